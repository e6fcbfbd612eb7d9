// What can become of each proposed edit, and of a whole turn, by VS Code's API: code actions, lenses, hints, undo.
const assert = require('node:assert/strict');
const vscode = require('vscode');
const { until, run, open } = require('./vscode_host_support.cjs');

/** One word that is replaced in three places, so that three edits are proposed. */
const THREE = 'hello one\n\nhello \u{1F980}\n\nhello three\n';

let document;

/** The lines, counted from 1, that say that an edit waits there. */
const linesWithHints = () => vscode.languages.getDiagnostics(document.uri)
  .filter(({ source }) => source === 'askls')
  .map(({ range }) => range.start.line + 1)
  .sort();
const hintsAt = (...lines) => until(() => String(linesWithHints()) === String(lines), `hints at ${lines}`);

async function textIs(text) {
  await until(() => document.getText() === text, `the text ${JSON.stringify(text)}`);
}

async function replace(range, text) {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, range, text);
  assert.ok(await vscode.workspace.applyEdit(edit));
}

/** Has the agent propose an edit in each of the three lines, and leaves its question unanswered. */
async function propose() {
  document = await open('three.txt');
  await replace(new vscode.Range(0, 0, document.lineCount, 0), THREE);
  const result = await run('askls.ask', { prompt: 'replace `hello` with `goodbye` in three.txt' });
  assert.equal(result.edits, 'proposed');
  await hintsAt(1, 3, 5);
}

const actionsAt = (line) =>
  vscode.commands.executeCommand('vscode.executeCodeActionProvider', document.uri, new vscode.Range(line - 1, 0, line - 1, 0));

/** Does what the light bulb at a line has under this title. */
async function act(line, title) {
  const action = (await actionsAt(line)).find((offered) => offered.title === title);
  assert.ok(action, `${title} is not offered`);
  await run(action.command.command, action.command.arguments[0]);
}

module.exports = {
  async 'one of three proposed edits is applied by the light bulb at its line, and undone in one step'() {
    await propose();
    const titles = (await actionsAt(3)).map(({ title }) => title).filter((title) => !title.includes('every'));
    assert.deepEqual(titles, [
      'Apply this agent edit (line 3)',
      'Reject this agent edit',
      'Apply all agent edits in this file',
      'Reject all agent edits in this file',
    ]);
    await act(3, 'Apply this agent edit (line 3)');
    await textIs(THREE.replace('hello \u{1F980}', 'goodbye \u{1F980}'));
    await hintsAt(1, 5);
    await run('undo');
    assert.equal(document.getText(), THREE);
  },
  async 'a rejected edit is offered no more, and the last one can still be applied'() {
    await act(1, 'Reject this agent edit');
    await hintsAt(5);
    await act(1, 'Apply all agent edits in this file');
    await textIs(THREE.replace('hello three', 'goodbye three'));
    await hintsAt();
  },
  async 'an edit moves with what is typed above it'() {
    await propose();
    await replace(new vscode.Range(1, 0, 1, 0), 'typed\nlines\n');
    await hintsAt(1, 5, 7);
    await act(5, 'Apply this agent edit (line 5)');
    await textIs('hello one\ntyped\nlines\n\ngoodbye \u{1F980}\n\nhello three\n');
    await run('askls.rejectEdits', {});
    await hintsAt();
  },
  async 'an edit whose line was typed into can only be rejected, until the user takes that back'() {
    await propose();
    await replace(new vscode.Range(2, 0, 2, 0), 'Oh, ');
    assert.equal((await actionsAt(3))[0].title, 'Reject this agent edit (you changed this line)');
    await run('undo');
    await act(3, 'Apply this agent edit (line 3)');
    await textIs(THREE.replace('hello \u{1F980}', 'goodbye \u{1F980}'));
    await run('askls.rejectEdits', {});
    await hintsAt();
  },
  async 'a lens above an edit applies that one'() {
    await propose();
    const lenses = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', document.uri);
    const titles = lenses.map(({ range, command }) => `${range.start.line + 1} ${command.title}`);
    assert.deepEqual(titles.filter((title) => title.startsWith('5')), ['5 askls: Apply', '5 Reject', '5 Show']);
    const { command } = lenses[titles.indexOf('5 askls: Apply')];
    await run(command.command, command.arguments[0]);
    await textIs(THREE.replace('hello three', 'goodbye three'));
    await run('askls.rejectEdits', {});
    await hintsAt();
  },
  async 'a turn is undone and redone in all its files, though one was typed in since'() {
    const main = await open('main.rs');
    document = await open('three.txt');
    await replace(new vscode.Range(0, 0, document.lineCount, 0), THREE);
    const before = main.getText();
    const { threadId } = await run('askls.ask', { prompt: 'replace `hello` with `goodbye` in main.rs and three.txt' });
    assert.equal((await run('askls.acceptEdits', { threadId })).applied, true);
    const after = THREE.replaceAll('hello', 'goodbye');
    await textIs(after);
    assert.equal(main.getText(), before.replace('hello', 'goodbye'));
    await replace(new vscode.Range(0, 0, 0, 0), 'typed\n');
    const undone = await run('askls.undoTurn', { onConflict: 'merge' });
    assert.deepEqual([undone.undone, undone.files.length, undone.reason], [true, 2, undefined]);
    assert.deepEqual([main.getText(), document.getText()], [before, `typed\n${THREE}`]);
    const redone = await run('askls.redoTurn', { onConflict: 'merge' });
    assert.deepEqual([redone.redone, redone.files.length, redone.reason], [true, 2, undefined]);
    assert.equal(document.getText(), `typed\n${after}`);
    await run('askls-vscode.undoTurn');
    assert.deepEqual([main.getText(), document.getText()], [before, `typed\n${THREE}`]);
  },
};
