// Runs vscode_host_tests.cjs inside VS Code's real extension host, where the whole API is at hand, on the extension
// as it lies in editors/vscode (built).
//
//     CODE_SERVER=... PLAYWRIGHT=... node tests/editors/vscode_host.mjs --server target/debug/askls
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { argument, launchBrowser, silentModelServer, SLOW, startWorkbenchServer } from './vscode_rig.mjs';
import { FILES } from './vscode_project.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const PATIENCE_MS = 120000;

// The server behind a script that tells its process id, so that a test can end it.
const folder = mkdtempSync(join(tmpdir(), 'askls-host-'));
const server = join(folder, 'askls');
writeFileSync(server, `#!/bin/sh\necho $$ >'${folder}/pid'\nexec '${resolve(argument('server'))}' "$@"\n`);
chmodSync(server, 0o755);
process.env.ASKLS_TEST_PID_FILE = join(folder, 'pid');
process.env.ASKLS_TEST_SLOW = SLOW;
process.env.ASKLS_TEST_SILENT = JSON.stringify(await silentModelServer());

const vscode = await startWorkbenchServer({ settings: { 'askls.serverPath': server }, files: FILES });
let browser;
let result = 1;
try {
  browser = await launchBrowser();
  const page = await (await browser.newContext()).newPage();
  const remote = (path) => `vscode-remote://${new URL(vscode.base).host}${resolve(path)}`;
  const ended = new Promise((done) => page.exposeFunction('codeAutomationExit', done));
  await page.exposeFunction('codeAutomationLog', (_type, args) => {
    const line = args.join(' ');
    // The workbench logs here too.
    if (/^(ok {3}|FAIL|\d+ passed)/.test(line) || process.env.VERBOSE) console.log(line);
  });
  const payload = [
    ['extensionDevelopmentPath', remote(join(HERE, '../../editors/vscode'))],
    ['extensionTestsPath', remote(join(HERE, 'vscode_host_tests.cjs'))],
  ];
  const url = `${vscode.url}&payload=${encodeURIComponent(JSON.stringify(payload))}`;
  await page.goto(url, { waitUntil: 'commit', timeout: 60000 * SLOW });
  const late = new Promise((done) => setTimeout(done, PATIENCE_MS * SLOW, 'late').unref());
  result = await Promise.race([ended, late]);
  if (result === 'late') console.log('FAIL the tests did not end in time\n0 passed, 1 failed');
} finally {
  await browser?.close();
  await vscode.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(result === 0 ? 0 : 1);
