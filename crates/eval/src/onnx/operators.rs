//! The operators that a model may use: what regressors, perceptrons and small convolutional networks are made of.
//!
//! Not among them: loops, branches, sequences, random numbers, recurrent cells, and everything that makes a tensor's size
//! depend on values.

use rten::{OpRegistry, op_registry};

macro_rules! allowed {
    ($($operator:ident)*) => {
        /// Their names. `Constant` is ONNX' way to write a weight.
        pub const ALLOWED: &[&str] = &["Constant", $(stringify!($operator)),*];

        pub(super) fn registry() -> OpRegistry {
            op_registry!($($operator),*)
        }
    };
}

allowed! {
    Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast CastLike Ceil Clip Concat ConstantOfShape Conv
    ConvTranspose Cos DepthToSpace Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements Gelu
    Gemm GlobalAveragePool Greater GreaterOrEqual HardSigmoid HardSwish Identity InstanceNormalization IsNaN
    LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean Min Mod Mul Neg Not Or Pad Pow
    PRelu Reciprocal ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round
    Shape Sigmoid Sign Sin Size Slice Softmax Softplus Split Sqrt Squeeze Sub Sum Tanh Tile TopK Transpose Trilu Unsqueeze
    Where Xor
}
