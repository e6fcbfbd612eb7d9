// Answers as read-only Markdown documents beside the code.
import * as vscode from 'vscode';

/** What the command `askls.ask` results in, as far as it is shown. */
export interface AskResult {
  answer?: string;
  stopReason?: string;
  limit?: string;
  /** Whose fault it is that no model could be asked. */
  fault?: string;
  detail?: string;
  background?: boolean;
  threadId?: string;
  /** What the agent has left running, by its command. */
  jobs?: string[];
}

const SCHEME = 'askls-answer';

export class Answers implements vscode.TextDocumentContentProvider, vscode.Disposable {
  /** The text of every answer whose document is open. */
  private readonly texts = new Map<string, string>();
  private readonly registrations: vscode.Disposable[];
  private count = 0;
  /** The thread that was shown last, and the text of its answers. */
  private last: { threadId: string | undefined; text: string } | undefined;

  constructor() {
    this.registrations = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? 'This answer is no longer kept.\n';
  }

  /**
   * Opens an answer without taking the focus from the code, below the earlier ones of its thread. The next one takes its
   * tab, unless the tab is pinned.
   */
  async show(prompt: string, result: AskResult): Promise<void> {
    this.count += 1;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/Answer ${this.count}.md` });
    const earlier = result.threadId !== undefined && this.last?.threadId === result.threadId ? `${this.last.text}\n` : '';
    this.last = { threadId: result.threadId, text: earlier + text(prompt, result) };
    this.texts.set(uri.toString(), this.last.text);
    const [document, editor] = await open(uri);
    const start = document.positionAt(earlier.length);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.AtTop);
  }

  /** Opens what `askls.status` says, in the same place. */
  async showStatus(status: string): Promise<void> {
    this.count += 1;
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/Status ${this.count}.txt` });
    this.texts.set(uri.toString(), `${status}\n`);
    await open(uri);
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
  }
}

/** The focus stays in the code. */
async function open(uri: vscode.Uri): Promise<[vscode.TextDocument, vscode.TextEditor]> {
  const document = await vscode.workspace.openTextDocument(uri);
  const shown = { viewColumn: column(), preserveFocus: true, preview: true };
  return [document, await vscode.window.showTextDocument(document, shown)];
}

/** Where the last answer stands, else beside the code. */
function column(): vscode.ViewColumn {
  const open = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.scheme === SCHEME);
  return open?.viewColumn ?? vscode.ViewColumn.Beside;
}

function text(prompt: string, result: AskResult): string {
  const parts = [`# ${prompt.replace(/\s+/g, ' ')}`];
  if (result.answer) parts.push(result.answer.trimEnd());
  if (result.fault === 'settings') {
    parts.push(`> **The settings cannot work.** ${result.detail ?? ''}`.trimEnd());
  } else if (result.stopReason !== 'answer') {
    const reason = [result.stopReason, result.limit].filter(Boolean).join(': ').replaceAll('_', ' ');
    parts.push(`> **Not finished: ${reason}.** ${result.detail ?? ''}`.trimEnd());
  } else if (result.detail) {
    // An answer that may be cut off, or that a limit brought about.
    parts.push(`> **Note:** ${result.detail}`);
  }
  if (result.jobs?.length) {
    const ends = result.jobs.length === 1 ? 'ends it' : 'ends them';
    parts.push(`> Still running in the background: ${result.jobs.map((job) => `\`${job}\``).join(', ')}. *Askls: Stop* ${ends}.`);
  }
  return parts.join('\n\n') + '\n';
}
