//! seccomp: system calls that no decoder, encoder or model needs. They fail as if the right to them were missing.

use std::collections::BTreeMap;

use libc::{
    SYS_acct, SYS_add_key, SYS_bpf, SYS_chroot, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init,
    SYS_finit_module, SYS_fsmount, SYS_fsopen, SYS_init_module, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_io_uring_setup, SYS_kcmp, SYS_kexec_load, SYS_keyctl, SYS_mount, SYS_move_mount,
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_open_tree, SYS_perf_event_open, SYS_personality,
    SYS_pidfd_getfd, SYS_pivot_root, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_quotactl,
    SYS_reboot, SYS_request_key, SYS_setdomainname, SYS_sethostname, SYS_setns, SYS_settimeofday, SYS_socket,
    SYS_swapoff, SYS_swapon, SYS_syslog, SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_vhangup,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Calls that reach other processes, the kernel's own tables, or the network by another way.
const FORBIDDEN: [i64; 43] = [
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_fanotify_init,
    SYS_finit_module,
    SYS_fsmount,
    SYS_fsopen,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mount,
    SYS_move_mount,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_personality,
    SYS_pidfd_getfd,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
    SYS_vhangup,
];

/// Whether a filter can be installed: the kernel may have none, a container may forbid it, and the processor's table of calls
/// may be unknown. One is installed to find out, on a thread that ends with it.
pub(crate) fn is_available() -> bool {
    let Ok(program) = program(false) else { return false };
    std::thread::spawn(move || seccompiler::apply_filter(&program).is_ok()).join().unwrap_or(false)
}

/// Installs the filter. A kernel without seccomp, or a container that forbids it, leaves the child without one.
pub(super) fn restrict(devices: bool) -> Result<(), String> {
    let Ok(program) = program(devices) else { return Ok(()) };
    let _ = seccompiler::apply_filter(&program);
    Ok(())
}

fn program(devices: bool) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        FORBIDDEN.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(
        SYS_socket,
        if devices { vec![not_local().map_err(|error| error.to_string())?] } else { vec![] },
    );
    // The same calls under the numbers of the 32-bit interface for 64-bit processors.
    if cfg!(target_arch = "x86_64") {
        let calls: Vec<i64> = rules.keys().copied().collect();
        rules.extend(calls.into_iter().map(|call| (call | X32, Vec::new())));
    }
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    filter.and_then(TryInto::try_into).map_err(|error| error.to_string())
}

const X32: i64 = 0x4000_0000;

/// Drivers of graphics devices speak with their daemons through local sockets.
fn not_local() -> Result<SeccompRule, seccompiler::BackendError> {
    let local = libc::AF_UNIX as u64;
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, local)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_compiles_for_this_processor() {
        if ["x86_64", "aarch64", "riscv64"].contains(&std::env::consts::ARCH) {
            assert!(program(false).is_ok() && program(true).is_ok());
        }
    }
}
