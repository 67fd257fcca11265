//! The help text: libvmaf's, and what we added.

/// What `--help` prints, and what follows a wrong argument. Programs that look for backends search it for `--no_cuda` and
/// its like: such a flag stands here only if that backend works on this machine. All of them are accepted all the same.
pub fn text(program: &str) -> String {
    let works = visus_scoring::backend::available().contains(&"cuda");
    let options = if works {
        OPTIONS.replacen(FRAME_COUNT, &[NO_CUDA, FRAME_COUNT].concat(), 1)
    } else {
        OPTIONS.to_owned()
    };
    format!("Usage: {program} [options]\n\n{options}")
}

const NO_CUDA: &str = " --no_cuda:                   compute everything on the CPU\n";
const FRAME_COUNT: &str = " --frame_cnt $unsigned:";

const OPTIONS: &str = "\
Supported options:
 --reference/-r $path:        path to reference .y4m or .yuv (- is standard input)
 --distorted/-d $path:        path to distorted .y4m or .yuv (- is standard input)
 --width/-w $unsigned:        width
 --height/-h $unsigned:       height
 --pixel_format/-p: $string   pixel format (420/422/444)
 --bitdepth/-b $unsigned:     bitdepth (8/10/12/16)
 --model/-m $params:          model parameters, colon \":\" delimited
                              `path=` path to model file
                              `version=` built-in model version
                              `name=` name used in log (optional)
                              `disable_clip` do not clip the score
                              `enable_transform` apply the model's score transform
                              `metric.option=value` option of a metric behind the model
 --output/-o $path:           output file
 --xml:                       write output file as XML (default)
 --json:                      write output file as JSON
 --csv:                       write output file as CSV
 --sub:                       write output file as subtitle
 --precision $string:         digits of scores: legacy (six decimals, default), max (17 significant), or 1 to 17
 --threads $unsigned:         number of threads to use
 --feature $string:           additional feature
 --cpumask: $bitmask          restrict permitted CPU instruction sets
 --gpumask: $bitmask          restrict permitted GPU operations
 --backend $string:           where features are computed: auto (default), cpu, cuda, cuda:N or cuda:N,M; what is not
                              available is refused
 --frame_cnt $unsigned:       maximum number of frames to process
 --frame_skip_ref $unsigned:  skip the first N frames in reference
 --frame_skip_dist $unsigned: skip the first N frames in distorted
 --subsample: $unsigned       compute scores only every N frames
 --aom_ctc $string:           preset of the AOM common test conditions (v1.0 ... v7.0)
 --nflx_ctc $string:          preset of the Netflix common test conditions (v1.0)
 --quiet/-q:                  disable FPS meter when run in a TTY
 --no_prediction/-n:          no prediction, extract features only
 --version/-v:                print version and exit
 --help:                      print this text and exit

Where libvmaf's tool crashes, reads uninitialised memory or reports success for a failure, this one gives the right
result or an error: odd sizes, 8-bit 4:2:2 and mono Y4M are read; a truncated file, a picture too small for a metric and
an output file that cannot be written end with a message and an exit code other than 0.";
