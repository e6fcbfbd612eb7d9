// What the tests inside the extension host share.
const vscode = require('vscode');

// A condition that a healthy run meets at once; only a hanging one ever waits this long.
const PATIENCE_MS = 20000 * Number(process.env.ASKLS_TEST_SLOW);

async function until(condition, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

const run = (command, argument) => vscode.commands.executeCommand(command, argument);

/** Opens a file of the project in the editor. */
async function open(name) {
  const folder = vscode.workspace.workspaceFolders[0].uri;
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder, name));
  await vscode.window.showTextDocument(document);
  return document;
}

module.exports = { until, run, open };
