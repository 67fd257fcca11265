//! Gives the shared library the name that programs which were linked with libvmaf 3 look for, and keeps it loaded: Rust's
//! thread-local values are destroyed when a thread ends, by code that must still be there after a `dlclose`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libvmaf.3.dylib"),
        "windows" => {}
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvmaf.so.3,-z,nodelete"),
    }
}
