// Drives the packaged extension in a real VS Code as a person does: palette, input box, progress, answer, buttons.
//
//     CODE_SERVER=... PLAYWRIGHT=... node tests/editors/vscode_ui.mjs --server target/debug/askls --vsix askls.vsix
//
// SHOTS=FOLDER keeps pictures there (SHOTS=docs writes docs/ask-vscode.png, the picture of the README).
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { argument, launchBrowser, runTests, silentModelServer, startWorkbenchServer, Workbench } from './vscode_rig.mjs';
import { FILES } from './vscode_project.mjs';

const SHOTS = process.env.SHOTS;
const silent = Object.fromEntries(Object.entries(await silentModelServer()).map(([name, value]) => [`askls.${name}`, value]));

let browser;
let workbench;
async function shot(name) {
  if (!SHOTS || !workbench) return;
  mkdirSync(SHOTS, { recursive: true });
  await workbench.page.screenshot({ path: join(SHOTS, `${name}.png`) });
}

const server = { 'askls.serverPath': resolve(argument('server')) };
const vscode = await startWorkbenchServer({ settings: server, files: FILES, vsix: argument('vsix') });

async function ask(prompt) {
  await workbench.command('Askls: Ask Agent');
  await workbench.answerInput('Ask Agent', prompt);
}

const tests = {
  async 'the palette asks, and the answer opens beside the code'() {
    await workbench.openFile('main.rs');
    await ask('What files are in the current directory? Then read Cargo.toml.');
    await workbench.waitForText('name = "sample"');
    await workbench.page.locator('.tabs-container .tab', { hasText: 'Answer 1.md' }).waitFor();
    await workbench.toast('Ask agent').waitFor({ state: 'detached' });
  },
  async 'Continue Thread asks on in the same thread, and both answers stand in one document'() {
    await workbench.command('Askls: Continue Thread');
    await workbench.answerInput('Continue Thread', 'Read three.txt');
    await workbench.toast('Ask agent').waitFor({ state: 'detached' });
    // The document of both takes the tab of the first.
    await workbench.page.locator('.tabs-container .tab', { hasText: 'Answer 2.md' }).waitFor();
    await workbench.waitForText('hello three');
  },
  async 'a proposed edit is applied by its button and undone in one step'() {
    await ask('replace `hello` with `goodbye` in main.rs');
    const toast = workbench.toast('1 file');
    await workbench.button(toast, 'Review').waitFor();
    await workbench.button(toast, 'Reject').waitFor();
    await workbench.toast('Ask agent').waitFor({ state: 'detached' });
    await workbench.page.locator('.editor-instance .view-line .mtkb').first().waitFor(); // the heading in colours
    await shot('ask-vscode');
    await workbench.button(toast, 'Apply').click();
    await workbench.waitForText('println!("goodbye")');
    await workbench.page.locator('.editor-group-container').first().locator('.view-lines').click();
    await workbench.page.keyboard.press('Control+Z');
    await workbench.waitForText('println!("hello")');
  },
  async 'a click above one of three proposed edits applies that one, and a click above each other rejects it'() {
    await workbench.openFile('three.txt');
    await ask('replace `hello` with `goodbye` in three.txt');
    const [, second] = await workbench.lenses('askls: Apply', 3);
    await second.click();
    await workbench.waitForText('hello one\n\ngoodbye two\n\nhello three');
    const [first] = await workbench.lenses('Reject', 2);
    await first.click();
    const [last] = await workbench.lenses('Reject', 1);
    await last.click();
    await workbench.lenses('Reject', 0);
    await workbench.command('Notifications: Clear All Notifications');
  },
  async 'Review shows the edits beforehand, and what is ticked of them is applied'() {
    await ask('replace `hello` with `welcome` in three.txt');
    await workbench.button(workbench.toast('1 file'), 'Review').click();
    const panel = workbench.page.locator('.part.panel');
    const entry = panel.locator('.monaco-list-row', { hasText: 'welcome three' });
    await entry.locator('input[type=checkbox], [role=checkbox]').click();
    await shot('review-vscode');
    await panel.locator('.monaco-button').filter({ hasText: /^Apply$/ }).first().click();
    await workbench.waitForText('hello one\n\ngoodbye two\n\nwelcome three');
  },
  async 'a question about nothing selected says what is missing'() {
    await workbench.command('Askls: Ask Agent About Selection');
    await workbench.toast('select the text').waitFor();
  },
  async 'the progress shows the steps, and its Cancel button ends the turn'() {
    vscode.setSettings(silent);
    const progress = workbench.toast('Ask agent');
    await workbench.until(async () => {
      // VS Code sees the changed file after a moment; until then the old model answers at once.
      await ask('hello?');
      await workbench.page.waitForTimeout(1000);
      return progress.isVisible();
    }, 'a turn that goes on');
    await progress.getByText('step 1 of').waitFor();
    await shot('progress-vscode');
    await workbench.button(progress, 'Cancel').click();
    await progress.waitFor({ state: 'detached' });
  },
  async 'a missing server is said, with the way to the setting'() {
    vscode.setSettings({ 'askls.serverPath': '/nowhere/askls' });
    const toast = workbench.toast('askls.serverPath names /nowhere/askls');
    await workbench.button(toast, 'Open Settings').waitFor();
  },
};

let passed = false;
try {
  browser = await launchBrowser();
  workbench = await Workbench.open(browser, vscode.url);
  passed = await runTests(tests, (rule) => shot(`FAIL ${rule}`.replace(/\W+/g, '-').slice(0, 60)));
} finally {
  await browser?.close();
  await vscode.stop();
}
process.exit(passed ? 0 : 1);
