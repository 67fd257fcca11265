//! Which adapter is chosen, and what one may lack.

use wgpu::Features;

use crate::device::DeviceInfo;
use crate::wgpu::{AdapterInfo, DISCRETE, best, lacks};

fn adapter(index: usize, architecture: &str, lacks: Option<&str>) -> AdapterInfo {
    let info = DeviceInfo {
        api: "vulkan",
        index,
        name: "adapter".to_owned(),
        memory: 1 << 30,
        driver: "driver 1".to_owned(),
        architecture: architecture.to_owned(),
    };
    AdapterInfo { info, is_software: architecture == "software", lacks: lacks.map(str::to_owned) }
}

#[test]
fn software_comes_last_and_a_discrete_gpu_first() {
    let all = [
        adapter(0, "software", None),
        adapter(1, "integrated GPU", None),
        adapter(2, DISCRETE, Some("64-bit integers")),
        adapter(3, DISCRETE, None),
        adapter(4, DISCRETE, None),
    ];
    let chosen =
        |of: &[usize]| best(of.iter().map(|n| all[*n].clone()).collect()).map(|adapter| adapter.info.index);
    assert_eq!(chosen(&[0, 1, 2, 3, 4]), Some(3), "of two alike the first");
    assert_eq!(chosen(&[0, 1, 2]), Some(1), "what cannot be used is worth less than what can");
    assert_eq!(chosen(&[0, 2]), Some(2), "the reason is of more use than a software adapter's score");
    assert_eq!(chosen(&[0]), Some(0), "it can be named");
    assert_eq!(chosen(&[]), None);
}

#[test]
fn what_an_adapter_lacks_is_named() {
    let enough = wgpu::Limits { max_compute_workgroup_storage_size: 16 << 10, ..wgpu::Limits::default() };
    assert_eq!(lacks(Features::SHADER_INT64, &enough), None);
    assert!(lacks(Features::empty(), &enough).unwrap().contains("SHADER_INT64"));
    let small = wgpu::Limits { max_compute_workgroup_storage_size: 1024, ..enough.clone() };
    assert_eq!(
        lacks(Features::SHADER_INT64, &small).unwrap(),
        "it has 1024 bytes of workgroup memory, but 12288 are needed"
    );
    let few = wgpu::Limits { max_compute_invocations_per_workgroup: 128, ..enough };
    assert!(lacks(Features::SHADER_INT64, &few).unwrap().contains("128 invocations to a workgroup"));
}
