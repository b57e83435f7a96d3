// SPDX-License-Identifier: MIT
//! Finds libuslab and its headers, and compiles `src/shim.c` with them.
//!
//! Looked for in this order: `USLAB_DIR`, the folder of an installation or of a build; pkg-config.
//! With `--cfg uslab_fake`, under Miri, and for docs.rs there is nothing to find.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

/// What programs inline must be compiled as the library was.
const NO_RSEQ: &str = "-DUSLAB_NO_RSEQ=1";

struct Library {
    include: PathBuf,
    lib: PathBuf,
    flags: Vec<String>,
}

fn fail(text: &str) -> ! {
    eprintln!("uslab-sys: {}", text);
    exit(1)
}

fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={}", name);
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// What the program says, or why it does not.
fn output<A: AsRef<OsStr>>(program: &str, arguments: &[A]) -> Result<String, String> {
    let run = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{}: {}", program, error))?;
    if run.status.success() {
        Ok(String::from_utf8_lossy(&run.stdout).trim().to_string())
    } else {
        Err(format!(
            "{}: {}",
            program,
            String::from_utf8_lossy(&run.stderr).trim()
        ))
    }
}

/// A line `NAME:TYPE=value` of a build's CMakeCache.txt.
fn cached(text: &str, name: &str) -> Option<String> {
    let line = text
        .lines()
        .find(|line| line.starts_with(&format!("{}:", name)))?;
    Some(line.split_once('=')?.1.to_string())
}

/// A folder below `dir` in which there is a libuslab.
fn lib_in(dir: &Path) -> Option<PathBuf> {
    let found = |lib: &Path| {
        ["libuslab.so", "libuslab.a"]
            .iter()
            .any(|n| lib.join(n).exists())
    };
    let multiarch = fs::read_dir(dir.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    let mut folders = vec![dir.join("lib"), dir.join("lib64")];

    folders.extend(multiarch.map(|entry| entry.path()));
    folders.into_iter().find(|lib| found(lib))
}

fn from_dir(dir: &Path) -> Result<Library, String> {
    let cache = fs::read_to_string(dir.join("CMakeCache.txt")).unwrap_or_default();
    let home = cached(&cache, "CMAKE_HOME_DIRECTORY").map_or(dir.to_path_buf(), PathBuf::from);
    let include = home.join("include");
    let mut flags = Vec::new();

    if !include.join("uslab/slab.h").exists() {
        return Err(format!("no uslab/slab.h in {}", include.display()));
    }
    if cached(&cache, "USLAB_NO_RSEQ").as_deref() == Some("ON") {
        flags.push(NO_RSEQ.to_string());
    }
    match lib_in(dir) {
        Some(lib) => Ok(Library {
            include,
            lib,
            flags,
        }),
        None => Err(format!(
            "neither libuslab.so nor libuslab.a in {}/lib",
            dir.display()
        )),
    }
}

fn from_pkg_config() -> Result<Library, String> {
    let program = variable("PKG_CONFIG").unwrap_or_else(|| "pkg-config".to_string());
    let ask = |option: &str| output(&program, &["--print-errors", option, "uslab"]);

    variable("PKG_CONFIG_PATH");
    variable("PKG_CONFIG_SYSROOT_DIR");
    Ok(Library {
        include: PathBuf::from(ask("--variable=includedir")?),
        lib: PathBuf::from(ask("--variable=libdir")?),
        flags: ask("--cflags-only-other")?
            .split_whitespace()
            .map(String::from)
            .collect(),
    })
}

fn find() -> Library {
    if let Some(dir) = variable("USLAB_DIR") {
        return from_dir(Path::new(&dir))
            .unwrap_or_else(|why| fail(&format!("USLAB_DIR={}: {}", dir, why)));
    }
    from_pkg_config().unwrap_or_else(|why| {
        fail(&format!(
            "libuslab was not found. Install it (make install), so that pkg-config knows it, or set\n\
             USLAB_DIR to where it is installed or built (build/release).\n{}",
            why
        ))
    })
}

/// The inline functions of the headers, as functions: an archive, which goes into this crate.
fn compile_shim(library: &Library) {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let target = env::var("TARGET").unwrap().replace('-', "_");
    let compiler = variable(&format!("CC_{}", target))
        .or_else(|| variable("CC"))
        .unwrap_or_else(|| "cc".to_string());
    let archiver = variable("AR").unwrap_or_else(|| "ar".to_string());
    let (object, archive) = (out.join("shim.o"), out.join("libuslab_rust_shim.a"));
    let mut arguments = vec![
        OsStr::new("-O2"),
        OsStr::new("-fPIC"),
        OsStr::new("-Wall"),
        OsStr::new("-I"),
        library.include.as_os_str(),
    ];

    arguments.extend(library.flags.iter().map(OsStr::new));
    arguments.extend(["-c", "src/shim.c", "-o"].map(OsStr::new));
    arguments.push(object.as_os_str());
    if let Err(why) = output(&compiler, &arguments) {
        fail(&format!(
            "a C compiler is needed (CC=...), and could not compile src/shim.c\n{}",
            why
        ));
    }
    let _ = fs::remove_file(&archive); // ar would add to it
    if let Err(why) = output(
        &archiver,
        &[OsStr::new("crs"), archive.as_os_str(), object.as_os_str()],
    ) {
        fail(&format!(
            "cannot make an archive of src/shim.o (AR=...)\n{}",
            why
        ));
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=uslab_rust_shim");
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/shim.c");
    if env::var_os("CARGO_CFG_MIRI").is_some() {
        println!("cargo:rustc-cfg=uslab_fake");
        return;
    }
    if env::var_os("CARGO_CFG_USLAB_FAKE").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let library = find();

    compile_shim(&library);
    println!(
        "cargo:rerun-if-changed={}",
        library.include.join("uslab").display()
    );
    println!("cargo:rustc-link-search=native={}", library.lib.display());
    if env::var_os("CARGO_FEATURE_STATIC").is_some() {
        println!(
            "cargo:rerun-if-changed={}",
            library.lib.join("libuslab.a").display()
        );
        println!("cargo:rustc-link-lib=static=uslab");
    } else {
        println!("cargo:rustc-link-lib=dylib=uslab");
    }
    // For build scripts of crates that depend on this one: DEP_USLAB_INCLUDE, DEP_USLAB_LIBDIR.
    println!("cargo:include={}", library.include.display());
    println!("cargo:libdir={}", library.lib.display());
}
