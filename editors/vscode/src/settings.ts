// The settings of the section `askls` that the user set. Defaults are not sent: they would overrule the user's own
// settings file, which the server reads too.
import * as vscode from 'vscode';

/** Settings of the extension itself. */
const NOT_FOR_THE_SERVER = new Set(['serverPath', 'trace']);

export function settingsForServer(): Record<string, unknown> {
  const section = vscode.workspace.getConfiguration('askls');
  const settings: Record<string, unknown> = {};
  // The keys are the settings of package.json, and the section's own methods, which no setting is named after.
  for (const name of Object.keys(section)) {
    const value = section.get<unknown>(name);
    if (!NOT_FOR_THE_SERVER.has(name) && isSet(section.inspect(name)) && value !== null) settings[name] = value;
  }
  // The extension shows the answer. When every ask goes on in the background, only the server can.
  settings['show_answer'] = settings['background'] === 'always' ? 'document' : 'none';
  return settings;
}

function isSet(found: ReturnType<vscode.WorkspaceConfiguration['inspect']>): boolean {
  return [found?.globalValue, found?.workspaceValue, found?.workspaceFolderValue].some((value) => value !== undefined);
}
