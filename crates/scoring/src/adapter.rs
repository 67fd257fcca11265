//! GPUs by Vulkan and Metal (cargo feature `wgpu`): which adapter a request names, and which one is used without a name.

use std::fmt;
use std::str::FromStr;

/// The interface to an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdapterApi {
    Vulkan,
    Metal,
}

impl AdapterApi {
    pub const ALL: [Self; 2] = [Self::Vulkan, Self::Metal];

    pub fn name(self) -> &'static str {
        match self {
            Self::Vulkan => "vulkan",
            Self::Metal => "metal",
        }
    }
}

/// `vulkan`, `vulkan:1`, `metal`: without a number the best adapter there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdapterRequest {
    pub api: AdapterApi,
    pub number: Option<u8>,
}

impl FromStr for AdapterRequest {
    /// Whatever else the text is, it names no adapter.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let api = AdapterApi::ALL.into_iter().find(|api| api.name() == name).ok_or(())?;
        let number = number.map(|number| number.parse::<u8>().ok().filter(|number| *number < 64).ok_or(()));
        Ok(Self { api, number: number.transpose()? })
    }
}

impl fmt::Display for AdapterRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.api.name())?;
        self.number.map_or(Ok(()), |number| write!(f, ":{number}"))
    }
}

#[cfg(feature = "wgpu")]
pub use open::{adapters, hardware, open};

#[cfg(feature = "wgpu")]
mod open {
    use std::collections::HashMap;
    use std::sync::{Arc, LazyLock, Mutex, PoisonError};

    use visus_engine::{AdapterInfo, Api, Gpu};

    use super::{AdapterApi, AdapterRequest};

    impl AdapterApi {
        fn api(self) -> Api {
            match self {
                Self::Vulkan => Api::Vulkan,
                Self::Metal => Api::Metal,
            }
        }
    }

    /// An adapter, or why it cannot be used. Both are remembered, but a lost device is opened anew.
    type Opened = Result<Arc<Gpu>, String>;

    /// Opens an adapter and tests it before its first use.
    pub fn open(request: AdapterRequest) -> Opened {
        let AdapterRequest { api, number } = request;
        let number = match number {
            Some(number) => usize::from(number),
            None => best(api)?.info.index,
        };
        numbered(api, number)
    }

    fn numbered(api: AdapterApi, number: usize) -> Opened {
        static ADAPTERS: LazyLock<Mutex<HashMap<(AdapterApi, usize), Opened>>> =
            LazyLock::new(Mutex::default);
        let mut known = ADAPTERS.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            let gpu = Gpu::adapter_tested(api.api(), number, crate::cache_folder().as_deref());
            gpu.map(Arc::new).map_err(|error| error.to_string())
        };
        let is_lost = |opened: &Opened| opened.as_ref().is_ok_and(|gpu| !gpu.is_usable());
        if known.get(&(api, number)).is_some_and(is_lost) {
            known.remove(&(api, number));
        }
        known.entry((api, number)).or_insert_with(open).clone()
    }

    fn best(api: AdapterApi) -> Result<AdapterInfo, String> {
        visus_engine::first_adapter(api.api())
            .ok_or_else(|| format!("there is no {} adapter on this machine", api.name()))
    }

    /// A GPU that works, if there is one. Adapters that compute on the processor do not count.
    pub fn hardware(api: AdapterApi) -> Option<Arc<Gpu>> {
        if !may_have_gpu() {
            return None;
        }
        let adapter = best(api).ok().filter(is_choice_of_auto)?;
        numbered(api, adapter.info.index).ok()
    }

    /// Software is used when it is named, and never chosen.
    fn is_choice_of_auto(adapter: &AdapterInfo) -> bool {
        !adapter.is_software && adapter.lacks.is_none()
    }

    /// Whether looking for a GPU is worth loading drivers for, which takes a while and may print warnings of theirs. On
    /// Linux every GPU has a node in `/dev`.
    fn may_have_gpu() -> bool {
        let nodes = ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"];
        !cfg!(target_os = "linux") || nodes.iter().any(|node| std::path::Path::new(node).exists())
    }

    /// A line for each adapter: number, name, driver, type, and why it cannot be used, if it cannot.
    pub fn adapters() -> Vec<String> {
        let all = AdapterApi::ALL.into_iter().flat_map(|api| visus_engine::adapters(api.api()));
        all.map(|adapter| line(&adapter)).collect()
    }

    fn line(adapter: &AdapterInfo) -> String {
        let info = &adapter.info;
        let lacks = adapter.lacks.as_ref().map_or(String::new(), |lacks| format!(": {lacks}"));
        format!("{}:{} {}, {}, {}{lacks}", info.api, info.index, info.name, info.driver, info.architecture)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Whatever adapters this machine has.
        #[test]
        fn auto_never_chooses_software() {
            for adapter in AdapterApi::ALL.into_iter().flat_map(|api| visus_engine::adapters(api.api())) {
                let software = AdapterInfo { is_software: true, lacks: None, ..adapter.clone() };
                assert!(!is_choice_of_auto(&software), "{software:?}");
                let gpu = AdapterInfo { is_software: false, lacks: None, ..adapter.clone() };
                assert!(is_choice_of_auto(&gpu), "{gpu:?}");
                let lacking = AdapterInfo { lacks: Some("64-bit integers".to_owned()), ..gpu };
                assert!(!is_choice_of_auto(&lacking) && line(&lacking).ends_with(": 64-bit integers"));
                let start = format!("{}:{} ", adapter.info.api, adapter.info.index);
                assert!(line(&adapter).starts_with(&start) && line(&adapter).contains(&adapter.info.name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_adapters() {
        let vulkan = AdapterRequest { api: AdapterApi::Vulkan, number: None };
        assert_eq!("vulkan".parse(), Ok(vulkan));
        assert_eq!("vulkan:3".parse(), Ok(AdapterRequest { number: Some(3), ..vulkan }));
        for text in ["vulkan", "vulkan:0", "vulkan:63", "metal", "metal:1"] {
            assert_eq!(text.parse::<AdapterRequest>().unwrap().to_string(), text);
        }
        for text in
            ["", "vulkan:", "vulkan:x", "vulkan:64", "vulkan:-1", "vulkan:0,1", "metal:", "cuda", "hip"]
        {
            assert_eq!(text.parse::<AdapterRequest>(), Err(()), "{text}");
        }
    }
}
