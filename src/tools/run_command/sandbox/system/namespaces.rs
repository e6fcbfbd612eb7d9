//! Namespaces of a command's own: mounts that put other things in front of secrets, and a network that has nothing but
//! its loopback, and processes that see no others.

use std::{ffi::OsStr, fs, io, os::unix::fs::FileTypeExt as _, path::Path};

use nix::sched::CloneFlags;
use rustix::{
    io::Errno,
    mount::{MountFlags, MountPropagationFlags},
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType},
    thread::CapabilitySet,
};

use super::{
    mounts::{hold_all_but, remount, there},
    plan::{Network, Plan},
};

/// What stands before a file: without devices on its mount nobody can open it, the super-user no more than others.
const NOTHING: &str = "/dev/null";

/// What a process needs of the super-user's rights to build and install: what common containers leave it, but for the right to
/// give rights to a program's file, which others could run outside.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Moves this process, which must have one thread, into namespaces of its own, and arranges them.
pub(super) fn enter(plan: &Plan) -> Result<(), String> {
    let mut flags = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    if plan.network != Network::Open {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    let capabilities = rustix::thread::capabilities(None).map_err(|error| error.to_string())?;
    let step = |name: &str, error: io::Error| format!("{name}: {error}");
    if capabilities.effective.contains(CapabilitySet::SYS_ADMIN) {
        nix::sched::unshare(flags).map_err(|error| step("namespaces", error.into()))?;
    } else {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        nix::sched::unshare(flags | CloneFlags::CLONE_NEWUSER)
            .map_err(|error| step("user namespaces", error.into()))?;
        // Everybody stays who they were, and is nobody else.
        map("setgroups", "deny".to_owned())?;
        map("uid_map", format!("{0} {0} 1", user.as_raw()))?;
        map("gid_map", format!("{0} {0} 1", group.as_raw()))?;
    }
    // What is mounted here must not appear outside.
    let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", propagation).map_err(|error| step("mounts", error.into()))?;
    let terminals = own_terminals();
    terminals.map_err(|error| step("terminals", error.into()))?;
    let failed = |path: &Path, error: Errno| format!("{}: {error}", path.display());
    hold_all_but(&plan.writable)?;
    for path in &plan.anchored {
        there(rustix::mount::mount_bind_recursive(path, path)).map_err(|error| failed(path, error))?;
    }
    for path in &plan.made {
        // Where askls cannot make it, the command cannot either; and it may be there.
        let _ = fs::create_dir(path);
    }
    for path in &plan.fixed {
        there(fix(path)).map_err(|error| failed(path, error))?;
    }
    for path in &plan.hidden {
        match hide(path) {
            Err(Errno::NOENT | Errno::NOTDIR) if plan.staying.contains(path) => return Err(gone(path)),
            hidden => there(hidden).map_err(|error| failed(path, error))?,
        }
    }
    if plan.network == Network::Loopback {
        start_loopback().map_err(|error| step("loopback", error))?;
    }
    // The way to where the command runs may lead over the new mounts now.
    std::env::current_dir().and_then(std::env::set_current_dir).map_err(|error| step("working folder", error))
}

/// Lets what this process starts next be the first process of a namespace. It may mount what shows the processes of that.
pub(super) fn separate_processes() -> Result<(), String> {
    let step = |error: io::Error| format!("process namespace: {error}");
    nix::sched::unshare(CloneFlags::CLONE_NEWPID).map_err(|error| step(error.into()))?;
    let mut sets = rustix::thread::capabilities(None).map_err(|error| step(error.into()))?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    rustix::thread::set_capabilities(None, sets).map_err(|error| step(error.into()))?;
    rustix::thread::configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)
        .map_err(|error| step(error.into()))
}

/// Shows the processes of this namespace, and no others, where those of the machine are shown. Processes get numbers from `first`
/// on, since two commands at once may have files in a temporary folder that are named by such a number.
pub(super) fn show_processes(first: Option<&OsStr>) -> Result<(), String> {
    /// The last number that was given away. Not every kernel has it.
    const LAST: &str = "/proc/sys/kernel/ns_last_pid";
    let step = |error: io::Error| format!("/proc: {error}");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, c"").map_err(|error| step(error.into()))?;
    let first = first.and_then(|first| first.to_str()?.parse::<u32>().ok());
    if let Some(last) = first.and_then(|first| first.checked_sub(1)) {
        let _ = fs::write(LAST, last.to_string());
    }
    remount(Path::new("/proc"), MountFlags::RDONLY).map_err(|error| step(error.into()))?;
    rustix::thread::clear_ambient_capability_set().map_err(|error| step(error.into()))?;
    let mut sets = rustix::thread::capabilities(None).map_err(|error| step(error.into()))?;
    sets.inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, sets).map_err(|error| step(error.into()))
}

/// Takes from the super-user, and from whoever could become it, what would undo the walls.
pub(super) fn drop_capabilities() -> Result<(), String> {
    let capabilities = rustix::thread::capabilities(None).map_err(|error| error.to_string())?;
    if !capabilities.effective.contains(CapabilitySet::SETPCAP) {
        return Ok(());
    }
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel does not know it.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(format!("capabilities: {error}")),
        }
    }
    Ok(())
}

fn gone(secret: &Path) -> String {
    format!("{} was moved or removed at that very moment, so run the command again", secret.display())
}

fn map(file: &str, text: String) -> Result<(), String> {
    let path = Path::new("/proc/self").join(file);
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Terminals that are not the user's. Where there are none, there are none.
fn own_terminals() -> Result<(), Errno> {
    if !Path::new("/dev/pts").is_dir() {
        return Ok(());
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    rustix::mount::mount("devpts", "/dev/pts", "devpts", flags, options)?;
    there(rustix::mount::mount_bind("/dev/pts/ptmx", "/dev/ptmx"))
}

fn fix(path: &Path) -> Result<(), Errno> {
    rustix::mount::mount_bind_recursive(path, path)?;
    remount(path, MountFlags::RDONLY)
}

fn hide(path: &Path) -> Result<(), Errno> {
    let Ok(kind) = fs::metadata(path).map(|metadata| metadata.file_type()) else {
        return Err(Errno::NOENT);
    };
    if kind.is_dir() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        return rustix::mount::mount("tmpfs", path, "tmpfs", flags, c"mode=0,size=4k");
    }
    if kind.is_char_device() || kind.is_block_device() {
        return Ok(());
    }
    rustix::mount::mount_bind(NOTHING, path)?;
    remount(path, MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY)
}

/// A new network has an address of its own, 127.0.0.1, which is switched off: one message to the kernel switches it on.
fn start_loopback() -> io::Result<()> {
    /// `RTM_NEWLINK`, wanted with an answer, for interface 1, whose flag `IFF_UP` is set.
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    const UP: u32 = 1;
    const ERROR: [u8; 2] = 2_u16.to_ne_bytes();
    let message: Vec<u8> = [
        32_u32.to_ne_bytes().as_slice(),
        &NEW_LINK.to_ne_bytes(),
        &REQUEST_AND_ACKNOWLEDGE.to_ne_bytes(),
        &[0; 8],
        &[0; 4],
        &1_i32.to_ne_bytes(),
        &UP.to_ne_bytes(),
        &UP.to_ne_bytes(),
    ]
    .concat();
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    let mut answer = [0; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let answer = answer.get(..length).unwrap_or_default();
    // The type, and behind the header the number of the error, which is 0 if there was none.
    match (answer.get(4..6), answer.get(16..20)) {
        (Some(kind), Some([0, 0, 0, 0])) if kind == ERROR => Ok(()),
        (Some(_), Some(number)) => {
            let number: [u8; 4] = number.try_into().unwrap_or_default();
            Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number).saturating_neg()))
        }
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
