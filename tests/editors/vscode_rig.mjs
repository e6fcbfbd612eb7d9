// A real VS Code workbench for the drives: code-server on 127.0.0.1 with folders of its own, and a headless Chromium
// on it. Needs CODE_SERVER and PLAYWRIGHT as install-code-server.sh leaves them.
import { execFileSync, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

// Every wait ends with its condition; this only stretches the limits on a busy machine.
export const SLOW = Number(process.env.RIG_SLOW ?? Math.min(6, Math.max(1, Math.ceil(loadavg()[0] / cpus().length))));

// The palette lists what it has at once; an open one that lacks a command for this long was opened too early.
const LIST_MS = 3000;

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
// Chromium as root, without a display, and without a word to its maker.
const CHROMIUM_ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

// Keeps a fresh workbench quiet and off the network.
const QUIET = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.reduceMotion': 'on',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'chat.commandCenter.enabled': false,
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  'editor.minimap.enabled': false,
  'editor.accessibilitySupport': 'off',
  'editor.wordWrap': 'on',
  'files.autoSave': 'off',
  'files.simpleDialog.enable': true,
};
// No extension gallery: without this the workbench looks one up.
const NO_GALLERY = JSON.stringify({ serviceUrl: '', itemUrl: '', resourceUrlTemplate: '' });

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export function argument(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  if (at > 0) return process.argv[at + 1];
  if (fallback === undefined) throw new Error(`--${name} is missing`);
  return fallback;
}

/** A path that install-code-server.sh left. */
function installed(variable) {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} is not set; tests/run vscode installs all and sets it`);
  return resolve(path);
}

function listen(server) {
  return new Promise((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', () => done(server.address().port)));
}

async function freePort() {
  const server = createServer();
  const port = await listen(server);
  await new Promise((done) => server.close(done));
  return port;
}

/** A model server that accepts every connection and never says a word: a turn with it runs until it is stopped. */
export async function silentModelServer() {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  const port = await listen(server);
  server.unref();
  return { model: 'silent', wire: 'chat', base_url: `http://127.0.0.1:${port}/v1` };
}

/** Starts code-server on a workspace with `files`. `settings` are those of the machine, which can be changed later. */
export async function startWorkbenchServer({ settings, files, vsix }) {
  const program = installed('CODE_SERVER');
  const folder = mkdtempSync(join(tmpdir(), 'askls-vscode-'));
  const [userData, extensions, workspace, home] = ['user-data', 'extensions', 'sample', 'home'].map((name) => join(folder, name));
  for (const name of ['user-data/User', 'user-data/Machine', 'extensions', 'sample', 'home']) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(userData, 'User/settings.json'), JSON.stringify(QUIET));
  const setSettings = (changed) =>
    writeFileSync(join(userData, 'Machine/settings.json'), JSON.stringify({ ...settings, ...changed }));
  setSettings({});
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(workspace, name, '..'), { recursive: true });
    writeFileSync(join(workspace, name), text);
  }
  const common = ['--config', '/dev/null', '--user-data-dir', userData, '--extensions-dir', extensions];
  // Nothing of the user's is read or written.
  const env = {
    ...process.env,
    EXTENSIONS_GALLERY: NO_GALLERY,
    HOME: home,
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_STATE_HOME: join(home, 'state'),
  };
  if (vsix !== undefined) execFileSync(program, [...common, '--install-extension', resolve(vsix)], { stdio: 'pipe', env });
  const port = await freePort();
  const log = openSync(join(folder, 'code-server.log'), 'a');
  // A process group of its own, so that stop() also ends the extension host and the language server.
  const child = spawn(program, [...common, '--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry',
    '--disable-update-check', '--disable-workspace-trust', '--disable-getting-started-override', workspace],
  { detached: true, stdio: ['ignore', log, log], env });
  const base = `http://127.0.0.1:${port}`;
  const stop = async () => {
    signal(child, 'SIGTERM');
    for (let i = 0; i < 50 && child.exitCode === null && child.signalCode === null; i++) await sleep(100);
    signal(child, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop().then(() => process.exit(1)));
  for (let tries = 300 * SLOW; !(await isHealthy(base)); tries--) {
    if (tries > 0 && child.exitCode === null) {
      await sleep(100);
      continue;
    }
    const said = readFileSync(join(folder, 'code-server.log'), 'utf8');
    await stop();
    throw new Error(`code-server did not start: ${said}`);
  }
  return { base, url: `${base}/?folder=${encodeURIComponent(workspace)}`, setSettings, stop };
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // The group is gone already.
  }
}

async function isHealthy(base) {
  try {
    return (await fetch(`${base}/healthz`)).ok;
  } catch {
    return false;
  }
}

export async function launchBrowser() {
  if (!existsSync(CHROMIUM)) throw new Error(`no Chromium at ${CHROMIUM}; install-code-server.sh installs it, or set CHROMIUM`);
  const playwright = createRequire(import.meta.url)(installed('PLAYWRIGHT'));
  return playwright.chromium.launch({ executablePath: CHROMIUM, headless: true, args: CHROMIUM_ARGUMENTS });
}

/** The workbench as a person uses it: the few gestures that the drive needs. */
export class Workbench {
  static async open(browser, url) {
    const workbench = new Workbench();
    workbench.page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage();
    workbench.page.setDefaultTimeout(20000 * SLOW);
    await workbench.page.goto(url, { waitUntil: 'commit', timeout: 60000 * SLOW });
    await workbench.page.waitForSelector('.explorer-folders-view .monaco-list-row', { timeout: 60000 * SLOW });
    return workbench;
  }

  get input() {
    return this.page.locator('.quick-input-widget input[type=text]');
  }

  /** Runs a command by its whole title, through F1. */
  async command(title) {
    const label = this.page.locator('.label-name', { hasText: new RegExp(`^${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`) });
    const row = this.page.locator('.quick-input-list .monaco-list-row', { has: label }).first();
    await this.until(async () => {
      await this.page.keyboard.press('F1');
      await this.input.waitFor({ state: 'visible' });
      await this.input.fill(`>${title}`);
      if (await row.waitFor({ timeout: LIST_MS * SLOW }).then(() => true, () => false)) return true;
      // The open list does not learn of the commands of an extension that is found late.
      await this.page.keyboard.press('Escape');
      await this.input.waitFor({ state: 'hidden' });
      return false;
    }, `the command ${title}`);
    await row.click();
  }

  /** Types into the input box that a command opened. */
  async answerInput(title, text) {
    await this.page.locator('.quick-input-widget .quick-input-title', { hasText: title }).waitFor();
    await this.input.fill(text);
    await this.page.keyboard.press('Enter');
    await this.input.waitFor({ state: 'hidden' });
  }

  async openFile(name) {
    const row = this.page.locator('.explorer-folders-view .monaco-list-row', { hasText: name }).first();
    await row.dblclick();
    await this.page.locator(`.tabs-container .tab.active[data-resource-name="${name}"]`).waitFor();
  }

  /** Text of all open editors, as the screen shows it. */
  async editorText() {
    return this.page.evaluate(() => [...document.querySelectorAll('.editor-instance .view-line')]
      .map((line) => line.textContent.replace(/\u00a0/g, ' ')).join('\n'));
  }

  async waitForText(part) {
    await this.until(async () => (await this.editorText()).includes(part), `an editor that shows ${part}`);
  }

  async waitForNoText(part) {
    await this.until(async () => !(await this.editorText()).includes(part), `no editor that shows ${part}`);
  }

  async until(condition, what) {
    const end = Date.now() + 20000 * SLOW;
    while (!(await condition())) {
      if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
      await sleep(50);
    }
  }

  /** Waits until there are so many code lenses with this title, and returns them from the top of the window down. */
  async lenses(title, count) {
    const found = this.page.locator('.codelens-decoration a').filter({ hasText: title });
    await this.until(async () => (await found.count()) === count, `${count} lenses ${title}`);
    // In one look: the window draws them anew whenever one goes.
    const tops = await found.evaluateAll((lenses) => lenses.map((lens) => lens.getBoundingClientRect().top));
    return tops.map((top, at) => ({ top, lens: found.nth(at) })).sort((one, other) => one.top - other.top).map(({ lens }) => lens);
  }

  toast(text) {
    return this.page.locator('.notifications-toasts .notification-list-item').filter({ hasText: text }).first();
  }

  button(toast, label) {
    return toast.locator('.monaco-text-button').filter({ hasText: label }).first();
  }
}

/** Runs the tests in order, prints a line for each and the sum, and returns whether all passed. */
export async function runTests(tests, onFailure = async () => {}) {
  let passed = 0;
  let failed = 0;
  for (const [rule, test] of Object.entries(tests)) {
    const start = Date.now();
    try {
      await test();
      passed++;
      console.log(`ok   ${rule} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      const reason = String(error?.stack ?? error).split('\n').slice(0, 8).join('\n     ');
      console.log(`FAIL ${rule} (${Date.now() - start} ms)\n     ${reason}`);
      await onFailure(rule);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0;
}
