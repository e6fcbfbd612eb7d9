//! Landlock: which files a command may read and which it may change. Rules hold for whole folders, so what is to be left
//! out is, by allowing everything beside it and beside the folders above it, one by one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus,
    Scope,
};

use super::plan::{Network, Plan};

/// The newest version of Landlock that this was tested with; of older ones, what they have is used.
const TESTED: ABI = ABI::V7;

/// Most rules: each holds the kernel for some microseconds. What would need more stays unreadable.
const MAX_RULES: usize = 20_000;

/// Disks, microphones, cameras, keyboards.
const ALL_DEVICES: &str = "/dev";

/// What every program may use of them.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Terminals that programs make for programs. Only those of this command, where it has mounts of its own.
const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// Holds this process, and all that it becomes and starts. Returns the version of Landlock.
pub(super) fn restrict(plan: &Plan) -> Result<u8, String> {
    let reading = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let all = AccessFs::from_all(TESTED);
    let mut rules = Rules { created: ruleset(plan).map_err(|error| error.to_string())?, count: 0 };
    let mut left_out = vec![PathBuf::from(ALL_DEVICES)];
    if !plan.walls.namespaces {
        // Elsewhere what is hidden lies behind other mounts.
        left_out.extend_from_slice(&plan.hidden);
    }
    rules.allow_beside(Path::new("/"), &left_out, reading)?;
    // Names of files may be seen everywhere: else no folder above what is left out could be listed.
    rules.allow(Path::new("/"), AccessFs::ReadDir.into())?;
    let terminals = TERMINALS.iter().filter(|_| plan.walls.namespaces);
    for device in DEVICES.iter().chain(terminals) {
        rules.allow(
            Path::new(device),
            reading | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
        )?;
    }
    for folder in &plan.writable {
        // No devices: who can make one reads the disk itself.
        rules.allow(folder, all & !(AccessFs::MakeChar | AccessFs::MakeBlock))?;
    }
    let status = rules.created.restrict_self().map_err(|error| error.to_string())?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Err("this kernel has no Landlock".to_owned()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi as u8),
        _ => Err("this kernel has no Landlock".to_owned()),
    }
}

fn ruleset(plan: &Plan) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TESTED))?
        .scope(Scope::Signal)?;
    if !plan.walls.namespaces || plan.network == Network::Open {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    if plan.network == Network::None {
        ruleset = ruleset.handle_access(AccessNet::from_all(TESTED))?;
    }
    ruleset.create()
}

struct Rules {
    created: RulesetCreated,
    count: usize,
}

impl Rules {
    /// Allows a file, or a folder and what is in it. One that is not there is no fault.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), String> {
        let is_folder = match fs::metadata(path) {
            Ok(metadata) => metadata.is_dir(),
            Err(_) => return Ok(()),
        };
        let access = if is_folder { access } else { access & AccessFs::from_file(TESTED) };
        if access.is_empty() || self.count >= MAX_RULES {
            return Ok(());
        }
        self.count += 1;
        let Ok(place) = PathFd::new(path) else { return Ok(()) };
        // The set is changed in place: its methods take and give back a reference too.
        (&mut self.created)
            .add_rule(PathBeneath::new(place, access))
            .map(drop)
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Allows all of a folder but what is in `left_out`, entry by entry on the way down to it. What comes to be in these folders
    /// later is not allowed.
    fn allow_beside(
        &mut self,
        folder: &Path,
        left_out: &[PathBuf],
        access: BitFlags<AccessFs>,
    ) -> Result<(), String> {
        let inside: Vec<_> = left_out.iter().filter(|path| path.starts_with(folder)).cloned().collect();
        if inside.is_empty() {
            return self.allow(folder, access);
        }
        if inside.iter().any(|path| path == folder) {
            return Ok(());
        }
        let entries: io::Result<Vec<_>> = fs::read_dir(folder).and_then(Iterator::collect);
        // What cannot be listed cannot be allowed piece by piece.
        let Ok(entries) = entries else { return Ok(()) };
        for entry in entries {
            // A link leads to a place that is allowed, or left out, by itself.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.allow_beside(&entry.path(), &inside, access)?;
            }
        }
        Ok(())
    }
}
