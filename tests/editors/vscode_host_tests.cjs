// The tests that vscode_host.mjs runs inside the extension host. They use VS Code's API only.
const assert = require('node:assert/strict');
const { readdirSync, readFileSync } = require('node:fs');
const vscode = require('vscode');
const { until, run, open } = require('./vscode_host_support.cjs');

const SILENT = JSON.parse(process.env.ASKLS_TEST_SILENT);

const answers = () => vscode.window.visibleTextEditors
  .map((editor) => editor.document)
  .filter((document) => document.uri.scheme === 'askls-answer');
const serverPid = () => Number(readFileSync(process.env.ASKLS_TEST_PID_FILE, 'utf8'));

/** Ends a process, and holds everything up until its pipes are closed: until its last thread is gone. */
function killAndWait(pid) {
  process.kill(pid, 'SIGKILL');
  while (readdirSync(`/proc/${pid}/task`).length > 1 || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
}

/** Sets the machine's settings for askls; `undefined` takes one back. */
async function set(settings) {
  for (const [name, value] of Object.entries(settings)) {
    await vscode.workspace.getConfiguration('askls').update(name, value, vscode.ConfigurationTarget.Global);
  }
}

/** Starts an ask that runs until it is stopped: its model server never says a word. */
async function silentAsk() {
  await set(SILENT);
  await until(async () => (await run('askls.status', {})).model === 'silent', 'the new settings');
  const before = (await run('askls.status', {})).running;
  assert.equal(before, 0);
  const result = run('askls.ask', { prompt: 'hello?' });
  await until(async () => (await run('askls.status', {})).running === 1, 'the turn to run');
  return { result }; // wrapped, or this function would wait for it
}

let document;
let main;

const tests = {
  async 'the extension starts the server, and no two commands have one name'() {
    document = await open('main.rs');
    main = document.getText();
    await vscode.extensions.getExtension('askls.askls-vscode').activate();
    const commands = (await vscode.commands.getCommands()).filter((name) => name.startsWith('askls')).sort();
    const ours = [
      'askls-vscode.ask',
      'askls-vscode.askSelection',
      'askls-vscode.continue',
      'askls-vscode.redoTurn',
      'askls-vscode.status',
      'askls-vscode.stop',
      'askls-vscode.undoTurn',
    ];
    for (const name of [...ours, 'askls.ask', 'askls.acceptEdits', 'askls.rejectEdits', 'askls.stop']) {
      assert.ok(commands.includes(name), `${name} among ${commands}`);
    }
  },
  async 'a folder cannot set where the key goes, nor what goes ahead without a question'() {
    const settings = vscode.workspace.getConfiguration('askls');
    assert.equal(settings.get('base_url'), null);
    assert.equal(settings.get('approvals'), null);
  },
  async 'an ask answers from the real files, in a Markdown document beside the code'() {
    const result = await run('askls.ask', { prompt: 'Read Cargo.toml', uri: document.uri.toString() });
    assert.equal(result.stopReason, 'answer');
    assert.match(result.answer, /name = "sample"/);
    const [answer] = answers();
    assert.equal(answer.languageId, 'markdown');
    assert.match(answer.getText(), /^# Read Cargo\.toml\n/);
    assert.match(answer.getText(), /name = "sample"/);
    assert.equal(vscode.window.activeTextEditor.document, document, 'the focus stays in the code');
  },
  async 'the next answer takes the place of the last'() {
    await run('askls.ask', { prompt: 'What files are in the current directory?' });
    assert.equal(answers().length, 1);
    assert.match(answers()[0].getText(), /main\.rs/);
  },
  async 'the answers of one thread stand below each other'() {
    const { threadId } = await run('askls.ask', { prompt: 'Read Cargo.toml' });
    await run('askls.ask', { prompt: 'What files are in the current directory?', threadId });
    assert.match(answers()[0].getText(), /^# Read Cargo\.toml\n[^]*\n# What files are in the current directory\?\n/);
  },
  async 'unsaved text is seen, and an accepted edit is one undo step'() {
    const typed = new vscode.WorkspaceEdit();
    typed.insert(document.uri, new vscode.Position(0, 0), '// typed, not saved\n');
    assert.ok(await vscode.workspace.applyEdit(typed));
    const before = document.getText();
    const result = await run('askls.ask', { prompt: 'replace `hello` with `goodbye` in main.rs', uri: document.uri.toString() });
    assert.equal(result.edits, 'proposed');
    assert.equal(document.getText(), before, 'nothing changes before the yes');
    const accepted = await run('askls.acceptEdits', { threadId: result.threadId });
    assert.equal(accepted.applied, true);
    await until(() => document.getText() === before.replace('hello', 'goodbye'), 'the edit');
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('undo');
    assert.equal(document.getText(), before);
    await vscode.commands.executeCommand('undo');
    assert.equal(document.getText(), main);
  },
  async 'a rejected edit cannot be accepted any more'() {
    const result = await run('askls.ask', { prompt: 'replace `hello` with `welcome` in main.rs' });
    assert.equal(result.edits, 'proposed');
    assert.equal((await run('askls.rejectEdits', { threadId: result.threadId })).rejected, 1);
    assert.equal((await run('askls.acceptEdits', { threadId: result.threadId })).applied, false);
    assert.equal(document.getText(), main);
  },
  ...require('./vscode_host_hunks.cjs'),
  async 'the question in a comment is a code action, and its answer opens too'() {
    const place = new vscode.Range(4, 5, 4, 5);
    const action = await until(async () => {
      const offered = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', document.uri, place);
      return offered.find(({ title }) => title === 'Ask agent: where is main defined?');
    }, 'the code action');
    const command = action.command ?? action;
    await vscode.commands.executeCommand(command.command, ...command.arguments);
    assert.match(answers()[0].getText(), /^# .*where is main defined\?/);
  },
  async 'Status says which model answers, beside the code'() {
    await run('askls-vscode.status');
    assert.match(answers()[0].getText(), /^askls [0-9.]+: .*\nrunning turns: 0\n/);
  },
  async 'Stop ends a turn whose model never answers, and no answer opens'() {
    const before = answers()[0].uri.toString();
    const { result } = await silentAsk();
    await run('askls-vscode.stop');
    assert.equal(await result, undefined);
    assert.equal(answers()[0].uri.toString(), before);
  },
  async 'after a crash the server is started again'() {
    const { result } = await silentAsk();
    const pid = serverPid();
    process.kill(pid, 'SIGKILL');
    await result;
    await until(() => serverPid() !== pid, 'a new server');
    await set({ base_url: undefined, wire: undefined, model: 'offline' });
    const again = await until(async () => {
      try {
        return await run('askls.ask', { prompt: 'Read Cargo.toml' });
      } catch {
        return undefined; // until the new server has answered `initialize`, its commands are not there
      }
    }, 'an answer');
    assert.match(again.answer, /name = "sample"/);
  },
  async 'a server that dies while VS Code writes to it is started again too'() {
    await until(async () => (await run('askls.status', {})).model === 'offline', 'the server');
    const pid = serverPid();
    // The request is written in the same round of the event loop, behind the death: its pipe breaks before its end is seen.
    setImmediate(() => killAndWait(pid));
    await assert.rejects(run('askls.status', {}));
    await until(() => serverPid() !== pid, 'a new server');
    await until(() => run('askls.status', {}).catch(() => undefined), 'its commands');
  },
};

exports.run = async function () {
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
      console.log(`FAIL ${rule} (${Date.now() - start} ms)\n     ${String(error.stack).replaceAll('\n', '\n     ')}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0) throw new Error(`${failed} failed`);
};
