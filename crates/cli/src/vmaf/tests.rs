//! Arguments, as getopt and libvmaf's tool read them.

use super::settings::{Asked, RawFormat, Settings};
use visus_video::Chroma;

fn parse(args: &[&str]) -> Result<Asked, String> {
    let args: Vec<String> = std::iter::once("vmaf").chain(args.iter().copied()).map(str::to_owned).collect();
    Settings::parse(&args)
}

fn settings(args: &[&str]) -> Settings {
    match parse(&[&["-r", "a.y4m", "-d", "b.y4m"], args].concat()) {
        Ok(Asked::Run(settings)) => *settings,
        other => panic!("{other:?}"),
    }
}

fn refusal(args: &[&str]) -> String {
    parse(&[&["-r", "a.y4m", "-d", "b.y4m"], args].concat()).unwrap_err()
}

#[test]
fn forms_of_an_option() {
    for args in [
        &["--reference", "x", "--distorted=y"][..],
        &["-rx", "-dy"],
        &["-r", "x", "-qd", "y"],
        &["--ref", "x", "--dist", "y"],
        &["word", "-r", "x", "-d", "y", "--", "-z"],
    ] {
        match parse(args) {
            Ok(Asked::Run(settings)) => {
                assert_eq!((&*settings.reference, &*settings.distorted), ("x", "y"), "{args:?}")
            }
            other => panic!("{args:?}: {other:?}"),
        }
    }
}

#[test]
fn unknown_and_ambiguous_options_get_getopts_message_and_are_passed_over() {
    for (args, complaint) in [
        (&["--bogus"][..], "vmaf: unrecognized option '--bogus'"),
        (&["--bogus=1"], "vmaf: unrecognized option '--bogus'"),
        (&["-z"], "vmaf: invalid option -- 'z'"),
        (&["-zq"], "vmaf: invalid option -- 'z'"),
        (&["--threads"], "vmaf: option '--threads' requires an argument"),
        (&["-o"], "vmaf: option requires an argument -- 'o'"),
        (&["--json=1"], "vmaf: option '--json' doesn't allow an argument"),
    ] {
        let settings = settings(args);
        assert_eq!(settings.complaints, [complaint], "{args:?}");
        assert_eq!(settings.quiet, args == ["-zq"]);
        assert_eq!((&*settings.reference, settings.threads), ("a.y4m", 0));
    }
    let ambiguous = settings(&["--frame", "1", "--threads", "3"]);
    let complaint = &ambiguous.complaints[0];
    assert!(
        complaint.starts_with("vmaf: option '--frame' is ambiguous; possibilities: '--frame_cnt'"),
        "{complaint}"
    );
    assert_eq!((ambiguous.threads, ambiguous.ignored), (3, vec!["1".to_owned()]));
}

#[test]
fn inputs_are_required() {
    assert_eq!(parse(&[]).unwrap_err(), "Reference .y4m or .yuv (-r/--reference) is required");
    assert_eq!(parse(&["-r", "x"]).unwrap_err(), "Distorted .y4m or .yuv (-d/--distorted) is required");
    assert!(parse(&["-r", "-", "-d", "-"]).unwrap_err().contains("standard input"));
    assert!(matches!(parse(&["--help"]), Ok(Asked::Help)));
    assert!(matches!(parse(&["-v"]), Ok(Asked::Version)));
}

#[test]
fn raw_video_needs_all_four() {
    let raw = settings(&["-w", "0x160", "-h", "288", "-p", "420", "-b", "8"]).raw;
    assert_eq!(raw, Some(RawFormat { width: 352, height: 288, chroma: Chroma::C420, depth: 8 }));
    assert!(
        refusal(&["-w", "352"])
            .starts_with("The following options are required for .yuv input:\n  --width/-w\n")
    );
    assert_eq!(
        refusal(&["-b", "14"]),
        "Invalid argument \"14\" for option -b/--bitdepth; should be a valid bitdepth (8/10/12/16)"
    );
    assert_eq!(
        refusal(&["-p", "411"]),
        "Invalid argument \"411\" for option -p/--pixel_format; should be a valid pixel format (420/422/444)"
    );
    for option in ["--threads", "--subsample", "--cpumask", "--frame_cnt"] {
        assert_eq!(
            refusal(&[option, "x"]),
            format!("Invalid argument \"x\" for option {option}; should be an integer")
        );
    }
}

#[test]
fn models_and_features() {
    assert_eq!(settings(&[]).models[0].label(), "vmaf_v0.6.1");
    assert!(settings(&["-n"]).models.is_empty());
    assert!(
        refusal(&["-m", "version=a", "-m", "version=b"]).starts_with("Each model should be uniquely named.")
    );
    assert_eq!(refusal(&["-m", "x"]), "Problem parsing model, bad option string \"x\".");
    assert_eq!(
        refusal(&["--feature", "psnr=x"]),
        "Problem parsing feature \"psnr\", bad option string \"x\"."
    );
    let feature = &settings(&["--feature", "vif=vif_enhn_gain_limit=1.0:debug=true"]).features[0];
    assert_eq!(feature.options[0], ("vif_enhn_gain_limit".to_owned(), "1".to_owned()));
}

#[test]
fn presets() {
    let names = |settings: &Settings| -> Vec<String> {
        settings.features.iter().map(|feature| feature.metric.clone()).collect()
    };
    let v7 = settings(&["--aom_ctc", "v7.0"]);
    assert_eq!(names(&v7), ["psnr", "ciede", "float_ssim", "float_ms_ssim", "psnr_hvs", "cambi"]);
    assert_eq!(v7.features[2].options[0], ("scale".to_owned(), "1".to_owned()));
    assert_eq!(v7.models.iter().map(|model| &*model.name).collect::<Vec<_>>(), ["vmaf", "vmaf_neg"]);
    assert_eq!(names(&settings(&["--aom_ctc", "v1.0"])).len(), 5);
    assert_eq!(settings(&["--nflx_ctc", "v1.0"]).models[1].label(), "vmaf_4k_v0.6.1neg");
    assert_eq!(refusal(&["--aom_ctc", "v9"]), "bad aom_ctc version \"v9\"");
    assert_eq!(refusal(&["--aom_ctc", "proposed"]), "`--aom_ctc proposed` is deprecated.");
}

#[test]
fn backends() {
    settings(&["--backend", "cpu", "--no_cuda", "--no_metal", "--gpumask", "1"]);
    assert!(refusal(&["--backend", "sycl"]).contains("backend 'sycl' is not available"));
    let masked = settings(&["--cpumask", "-1", "--gpumask", "-1"]);
    assert_eq!((masked.cpumask, masked.without_gpu), (u64::MAX, true));
    assert!(settings(&["--backend", "cuda", "--no_cuda"]).engine_backend().is_err());
    assert!(refusal(&["--backend", "abacus"]).contains("should be auto, cpu"));
    assert!(refusal(&["--precision", "18"]).contains("should be legacy, max or 1 to 17"));
}
