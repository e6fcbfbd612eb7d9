//! A filter of system calls: sockets of the kinds that a command may have, nothing that would get round that, no programs with the
//! rights of their owner, and no hold on processes outside.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::plan::{Network, Plan};

/// Added to the numbers of calls in the second calling convention of 64-bit PCs, which is open beside the first.
#[cfg(target_arch = "x86_64")]
const SECOND_CONVENTION: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_CONVENTION: Option<i64> = None;

/// A ring would make sockets unseen by any filter; the kernel's keys are none of a command's business.
const NEVER: [i64; 6] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// Landlock has held the shortening of files since this version.
const HOLDS_SHORTENING: u8 = 3;

/// Holds this process, and all that it becomes and starts. `landlock` is the version that holds its files already.
pub(super) fn restrict(plan: &Plan, landlock: Option<u8>) -> Result<(), String> {
    let apply = |program: Result<BpfProgram, seccompiler::Error>| {
        let program = program.map_err(|error| error.to_string())?;
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())
    };
    apply(refused(plan, landlock))?;
    // No filter sees what it is asked for. Programs that find it missing do without.
    apply(filter([(libc::SYS_openat2, Vec::new())].into(), libc::ENOSYS))
}

fn refused(plan: &Plan, landlock: Option<u8>) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules = BTreeMap::new();
    for call in NEVER {
        rules.insert(call, Vec::new());
    }
    rules.insert(libc::SYS_socket, sockets(plan)?);
    if landlock.is_some_and(|version| version < HOLDS_SHORTENING) {
        shortening(&mut rules)?;
    }
    owners_rights(&mut rules)?;
    if !plan.walls.processes {
        other_processes(&mut rules)?;
    }
    filter(rules, libc::EACCES)
}

/// A filter that refuses what fits these rules.
fn filter(mut rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> Result<BpfProgram, seccompiler::Error> {
    if let Some(offset) = SECOND_CONVENTION {
        let again: Vec<_> = rules.iter().map(|(call, rules)| (call + offset, rules.clone())).collect();
        rules.extend(again);
    }
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, std::env::consts::ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

/// One rule that fits every socket but those of the families that are allowed.
fn sockets(plan: &Plan) -> Result<Vec<SeccompRule>, seccompiler::Error> {
    let mut families = Vec::new();
    if plan.network != Network::None {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if plan.walls.namespaces {
        // Where the sockets of other programs cannot be put out of sight, none can be reached: some run what they are told.
        families.push(libc::AF_UNIX);
    }
    let is_not = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(family.unsigned_abs()))
    };
    let others = families.iter().map(|family| is_not(*family)).collect::<Result<Vec<_>, _>>()?;
    let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
    // Of the kernel's own sockets the one by which programs list the machine's addresses.
    let other_than_netlink = [others.clone(), vec![is_not(libc::AF_NETLINK)?]].concat();
    let other_netlink = vec![
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, netlink)?,
        SeccompCondition::new(
            2,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            u64::from(libc::NETLINK_ROUTE.unsigned_abs()),
        )?,
    ];
    Ok(vec![SeccompRule::new(other_than_netlink)?, SeccompRule::new(other_netlink)?])
}

/// Ways to empty a file without opening it for writing.
fn shortening(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), seccompiler::Error> {
    let mask = u64::from((libc::O_ACCMODE | libc::O_TRUNC).unsigned_abs());
    let empties = |argument: u8| {
        let condition = SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(mask),
            u64::from((libc::O_RDONLY | libc::O_TRUNC).unsigned_abs()),
        )?;
        SeccompRule::new(vec![condition])
    };
    rules.insert(libc::SYS_truncate, Vec::new());
    rules.insert(libc::SYS_openat, vec![empties(2)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![empties(1)?]);
    Ok(())
}

/// A program that has the rights of its owner, or of its group, whoever runs it: a way back in for others, outside the sandbox.
fn owners_rights(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), seccompiler::Error> {
    let has = |argument: u8, bits: u32| {
        let bits = u64::from(bits);
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
    };
    let modes = [libc::S_ISUID, libc::S_ISGID];
    let mut add = |call: i64, rule: Vec<SeccompCondition>| {
        rules.entry(call).or_default().push(SeccompRule::new(rule)?);
        Ok::<_, seccompiler::Error>(())
    };
    for mode in modes {
        add(libc::SYS_fchmod, vec![has(1, mode)?])?;
        add(libc::SYS_fchmodat, vec![has(2, mode)?])?;
        add(FCHMODAT2, vec![has(2, mode)?])?;
        add(libc::SYS_mknodat, vec![has(2, mode)?])?;
        // Without the flag the mode means nothing, and may be anything.
        for makes in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            let makes = makes.unsigned_abs();
            add(libc::SYS_openat, vec![has(2, makes)?, has(3, mode)?])?;
            #[cfg(target_arch = "x86_64")]
            add(libc::SYS_open, vec![has(1, makes)?, has(2, mode)?])?;
        }
        #[cfg(target_arch = "x86_64")]
        for (call, argument) in [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)] {
            add(call, vec![has(argument, mode)?])?;
        }
    }
    Ok(())
}

/// The newest way to change a mode; it has this number everywhere.
const FCHMODAT2: i64 = 452;

/// Limits and priorities of processes that this one only knows by their numbers. A limit of time ends a process as a signal does.
fn other_processes(rules: &mut BTreeMap<i64, Vec<SeccompRule>>) -> Result<(), seccompiler::Error> {
    let is_set =
        |argument: u8, length: SeccompCmpArgLen| SeccompCondition::new(argument, length, SeccompCmpOp::Ne, 0);
    let number = SeccompCmpArgLen::Dword;
    // Asking for a limit changes none.
    let limit = vec![is_set(0, number.clone())?, is_set(2, SeccompCmpArgLen::Qword)?];
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(limit)?]);
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        rules.insert(call, vec![SeccompRule::new(vec![is_set(1, number.clone())?])?]);
    }
    rules.insert(libc::SYS_process_vm_writev, Vec::new());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io, os::unix::fs::OpenOptionsExt as _, path::Path, thread};

    use super::{super::plan::Walls, *};

    /// What a thread with the filter gets; the filter ends with it.
    fn held<T: Send>(
        plan: &Plan,
        landlock: Option<u8>,
        attempt: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<(), io::ErrorKind> {
        let restricted = || {
            restrict(plan, landlock).unwrap();
            attempt().map(drop).map_err(|error| error.kind())
        };
        thread::scope(|scope| scope.spawn(restricted).join()).unwrap()
    }

    fn empty_while_reading(path: &Path) -> io::Result<File> {
        File::options().read(true).custom_flags(libc::O_TRUNC).open(path)
    }

    #[test]
    fn where_landlock_does_not_hold_it_no_file_is_emptied_unopened() {
        const REFUSED: Result<(), io::ErrorKind> = Err(io::ErrorKind::PermissionDenied);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "text").unwrap();
        let plan = Plan::default();
        assert_eq!(held(&plan, Some(2), || empty_while_reading(&path)), REFUSED);
        assert_eq!(held(&plan, Some(2), || File::open(&path)), Ok(()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        assert_eq!(held(&plan, Some(2), || File::create(&path)), Ok(()));
        assert_eq!(held(&plan, Some(3), || empty_while_reading(&path)), Ok(()));
    }

    #[test]
    fn a_socket_is_refused_unless_its_family_is_allowed() {
        use rustix::net::{AddressFamily, SocketType, socket};

        let namespaces = Walls { namespaces: true, ..Walls::default() };
        for (network, walls, allowed) in [
            (Network::None, Walls::default(), &[AddressFamily::NETLINK][..]),
            (Network::Open, Walls::default(), &[AddressFamily::NETLINK, AddressFamily::INET]),
            (
                Network::Loopback,
                namespaces,
                &[AddressFamily::NETLINK, AddressFamily::INET, AddressFamily::UNIX],
            ),
        ] {
            let plan = Plan { network, walls, ..Plan::default() };
            for family in
                [AddressFamily::NETLINK, AddressFamily::INET, AddressFamily::UNIX, AddressFamily::KEY]
            {
                let made = held(&plan, None, || Ok(socket(family, SocketType::DGRAM, None)?));
                let is_refused = made == Err(io::ErrorKind::PermissionDenied);
                assert_eq!(!is_refused, allowed.contains(&family), "{network:?} {family:?}: {made:?}");
            }
        }
    }
}
