//! Makes Rust of the headers of FFmpeg's libraries: the types and functions that are used, nothing else.
//!
//! Nothing is linked: the libraries are loaded when a video is to be decoded, so that a program with this feature starts as quickly
//! as one without it, and works where they are missing.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "bindings")]
    headers::bind();
}

#[cfg(feature = "bindings")]
mod headers {
    use std::path::{Path, PathBuf};

    const HEADERS: [&str; 4] =
        ["libavformat/avformat.h", "libavcodec/avcodec.h", "libavutil/pixdesc.h", "libavutil/log.h"];

    const FUNCTIONS: [&str; 28] = [
        "avcodec_alloc_context3",
        "avcodec_find_decoder",
        "avcodec_free_context",
        "avcodec_get_class",
        "avcodec_open2",
        "avcodec_parameters_to_context",
        "avcodec_receive_frame",
        "avcodec_send_packet",
        "avcodec_version",
        "avformat_alloc_context",
        "avformat_close_input",
        "avformat_find_stream_info",
        "avformat_open_input",
        "avformat_seek_file",
        "avformat_version",
        "avutil_version",
        "av_dict_free",
        "av_dict_set",
        "av_frame_alloc",
        "av_frame_free",
        "av_get_pix_fmt_name",
        "av_packet_alloc",
        "av_packet_free",
        "av_packet_unref",
        "av_read_frame",
        "av_rescale_q",
        "av_strerror",
        "av_version_info",
    ];

    const TYPES: [&str; 7] = [
        "AVClass",
        "AVCodecContext",
        "AVFormatContext",
        "AVFrame",
        "AVPacket",
        "AVPixelFormat",
        "AVRational",
    ];

    const CONSTANTS: [&str; 9] = [
        "AVFMT_FLAG_NONBLOCK",
        "AVFMT_SEEK_TO_PTS",
        "AV_FRAME_FLAG_CORRUPT",
        "AV_LOG_.*",
        "AV_PKT_FLAG_CORRUPT",
        "AV_TIME_BASE",
        "LIBAVCODEC_VERSION_MAJOR",
        "LIBAVFORMAT_VERSION_MAJOR",
        "LIBAVUTIL_VERSION_MAJOR",
    ];

    pub fn bind() {
        let mut folders = Vec::new();
        for library in ["libavformat", "libavcodec", "libavutil"] {
            let found = pkg_config::Config::new().cargo_metadata(false).probe(library);
            folders.extend(found.unwrap_or_else(|error| missing(library, &error)).include_paths);
        }
        let libraries = pkg_config::get_variable("libavformat", "libdir").unwrap_or_default();
        println!("cargo::rustc-env=VISUS_LIBAV_FOLDER={libraries}");
        let into = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names OUT_DIR"));
        write(&folders, &into.join("bindings.rs"));
    }

    fn missing(library: &str, error: &pkg_config::Error) -> pkg_config::Library {
        panic!(
            "the feature `libav` needs the headers of {library} (Debian and Ubuntu: apt install libavformat-dev libavcodec-dev \
             libavutil-dev libclang-dev pkg-config); leave the feature out to build without them\n{error}"
        )
    }

    fn write(folders: &[PathBuf], file: &Path) {
        let includes: String = HEADERS.iter().map(|header| format!("#include <{header}>\n")).collect();
        let mut builder = bindgen::Builder::default()
            .header_contents("visus_libav.h", &includes)
            .clang_args(folders.iter().map(|folder| format!("-I{}", folder.display())))
            .dynamic_library_name("Functions")
            .dynamic_link_require_all(true)
            .default_enum_style(bindgen::EnumVariation::Consts)
            .prepend_enum_name(false)
            .wrap_unsafe_ops(true)
            .rust_edition(bindgen::RustEdition::Edition2024)
            .generate_comments(false)
            .layout_tests(false);
        for function in FUNCTIONS {
            builder = builder.allowlist_function(function);
        }
        for name in TYPES {
            builder = builder.allowlist_type(name);
        }
        for name in CONSTANTS {
            builder = builder.allowlist_var(name);
        }
        let bindings =
            builder.generate().unwrap_or_else(|error| panic!("the headers of FFmpeg's libraries: {error}"));
        bindings.write_to_file(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}
