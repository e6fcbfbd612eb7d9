// Finds the program askls: the setting, else PATH.
import { accessSync, constants, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

export type FoundServer = { path: string } | { missing: string };

/** The program to start, or a sentence that says what was looked for in vain. */
export function findServer(setting: string): FoundServer {
  if (setting !== '') {
    const path = setting.replace(/^~(?=[\\/])/, homedir());
    return isProgram(path) ? { path } : { missing: `askls.serverPath names ${path}, which is no program that can be run.` };
  }
  const name = process.platform === 'win32' ? 'askls.exe' : 'askls';
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && isProgram(path)) return { path };
  }
  const toDo = 'Install it with `cargo install --path .` in a clone of askls, or name it in askls.serverPath.';
  return { missing: `The program askls is not in PATH. ${toDo}` };
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
