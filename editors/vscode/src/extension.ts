// Askls in VS Code: starts the language server, adds the palette's commands, shows progress and answers. Everything
// else (edits, questions, code actions) is the server's own, by the language server protocol.
import * as vscode from 'vscode';
import {
  DidChangeConfigurationNotification,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  TransportKind,
  WorkDoneProgressCancelNotification,
  type LanguageClientOptions,
  type Middleware,
} from 'vscode-languageclient/node';
import { Answers, type AskResult } from './answers';
import { restartsWhatBroke } from './crashes';
import { ProgressNotifications } from './progress';
import { findServer } from './server';
import { settingsForServer } from './settings';

let client: LanguageClient | undefined;
let starting: Promise<boolean> | undefined;
/** The thread that was asked last, of the server that runs. */
let lastThread: string | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const answers = new Answers();
  // The server's own commands (askls.ask ...) are registered by the language client, so these have names of their own.
  context.subscriptions.push(
    answers,
    vscode.commands.registerCommand('askls-vscode.ask', () => ask(answers, undefined)),
    vscode.commands.registerCommand('askls-vscode.askSelection', () => askAboutSelection(answers)),
    vscode.commands.registerCommand('askls-vscode.continue', () => continueThread(answers)),
    vscode.commands.registerCommand('askls-vscode.stop', async () => {
      // Without a running server nothing runs, and its command is not there.
      if (client?.state === State.Running) await vscode.commands.executeCommand('askls.stop', {});
    }),
    vscode.commands.registerCommand('askls-vscode.undoTurn', () => undoOrRedo(answers, 'askls.undoTurn')),
    vscode.commands.registerCommand('askls-vscode.redoTurn', () => undoOrRedo(answers, 'askls.redoTurn')),
    vscode.commands.registerCommand('askls-vscode.status', () => showStatus(answers)),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration('askls.serverPath')) {
        await starting;
        await stop();
        await start(answers);
      } else if (change.affectsConfiguration('askls')) {
        await sendSettings();
      }
    }),
  );
  await start(answers);
}

export function deactivate(): Promise<void> {
  return stop();
}

/** Takes the newest turn back, or applies it again. What it did, the server says itself. */
async function undoOrRedo(answers: Answers, command: 'askls.undoTurn' | 'askls.redoTurn'): Promise<void> {
  // The checkpoints outlive the server, so it may not run yet.
  if (await start(answers)) await vscode.commands.executeCommand(command, {});
}

/** Shows which model answers and why, what is set and where, and what runs. */
async function showStatus(answers: Answers): Promise<void> {
  if (!(await start(answers))) return;
  const status = await vscode.commands.executeCommand<{ text: string } | undefined>('askls.status', {});
  if (status) await answers.showStatus(status.text);
}

/** Starts the server unless it runs, and says whether it does; when it cannot, the user is told why and what to do. */
function start(answers: Answers): Promise<boolean> {
  if (client?.state === State.Running) return Promise.resolve(true);
  starting ??= startAnew(answers).finally(() => {
    starting = undefined;
  });
  return starting;
}

async function startAnew(answers: Answers): Promise<boolean> {
  if (client?.state === State.Starting) {
    await client.start(); // the language client is starting it again after a crash
    return true;
  }
  await stop(); // what is left of a server that crashed too often
  const server = findServer(vscode.workspace.getConfiguration('askls').get('serverPath', ''));
  if ('missing' in server) {
    void offerSettings(server.missing);
    return false;
  }
  const progress = new ProgressNotifications((token) => {
    void started.sendNotification(WorkDoneProgressCancelNotification.type, { token });
  });
  const run = { command: server.path, args: ['lsp'], transport: TransportKind.stdio };
  const errorHandler = restartsWhatBroke(() => started.createDefaultErrorHandler());
  const started = new LanguageClient('askls', 'Askls', run, { ...clientOptions(answers, progress), errorHandler });
  started.onDidChangeState(({ newState }) => {
    if (newState !== State.Running) {
      lastThread = undefined; // it was the old server's
      return progress.closeAll();
    }
    // Not as initialization options: what stands there holds until the settings say otherwise, so that a setting which
    // the user takes back would go on.
    void sendSettings();
  });
  client = started;
  try {
    await started.start();
    return true;
  } catch (error) {
    client = undefined;
    void offerSettings(`${server.path} did not start as a language server: ${message(error)}`);
    return false;
  }
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  // A server that is still starting, or already gone, cannot be told to stop; the end of its input ends it.
  await old?.dispose().catch(() => undefined);
}

function clientOptions(answers: Answers, progress: ProgressNotifications): LanguageClientOptions {
  const middleware: Middleware = {
    handleWorkDoneProgress: progress.handle,
    // Every ask comes through here, those of code actions too.
    executeCommand: async (command, args, next) => {
      if (command !== 'askls.ask') return next(command, args);
      return showResult(answers, args, () => next(command, args));
    },
    workspace: {
      configuration: ({ items }) => items.map(({ section }) => (section === 'askls' ? settingsForServer() : null)),
      didChangeConfiguration: sendSettings,
    },
  };
  return {
    // No virtual documents: VS Code opens some of its own (diffs, previews), and the answers are some.
    documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    middleware,
  };
}

async function sendSettings(): Promise<void> {
  if (client?.state !== State.Running) return;
  await client.sendNotification(DidChangeConfigurationNotification.type, { settings: { askls: settingsForServer() } });
}

/** Shows what an ask results in. A cancelled one shows nothing: the user knows. */
async function showResult(
  answers: Answers,
  args: unknown[],
  run: () => vscode.ProviderResult<AskResult>,
): Promise<AskResult | undefined> {
  try {
    const result = await run();
    if (!result) return undefined;
    lastThread = result.threadId ?? lastThread;
    if (!result.background) await answers.show(promptOf(args[0]), result);
    return result;
  } catch (error) {
    if (!(error instanceof vscode.CancellationError)) void vscode.window.showErrorMessage(`Askls: ${message(error)}`);
    return undefined;
  }
}

function promptOf(argument: unknown): string {
  if (typeof argument === 'string') return argument;
  const prompt = (argument as { prompt?: unknown } | undefined)?.prompt;
  return typeof prompt === 'string' ? prompt : 'Answer';
}

async function askAboutSelection(answers: Answers): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || editor.selection.isEmpty) {
    void vscode.window.showInformationMessage('Askls: select the text that you want to ask about first.');
    return;
  }
  await ask(answers, editor.selection);
}

/** Asks on in the last thread, about the selection where there is one. */
async function continueThread(answers: Answers): Promise<void> {
  if (lastThread === undefined) {
    void vscode.window.showInformationMessage('Askls: there is nothing to continue yet; Ask Agent starts a thread.');
    return;
  }
  const selection = vscode.window.activeTextEditor?.selection;
  await ask(answers, selection?.isEmpty === false ? selection : undefined, lastThread);
}

/** Without a thread it is a new one. */
async function ask(answers: Answers, selection: vscode.Selection | undefined, threadId?: string): Promise<void> {
  // Taken before the input box opens: what the user was looking at is what the question is about.
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (!(await start(answers))) return;
  const prompt = await vscode.window.showInputBox({
    title: threadId !== undefined ? 'Continue Thread' : selection === undefined ? 'Ask Agent' : 'Ask Agent About Selection',
    placeHolder: 'Where is the configuration read? Replace `foo` with `bar` in main.rs ...',
    ignoreFocusOut: true,
  });
  if (!prompt?.trim()) return;
  // Named before it is asked, so that a thread whose turn is stopped can go on.
  lastThread = threadId ?? (await vscode.commands.executeCommand<{ threadId: string }>('askls.newThread', {})).threadId;
  const isKnown = uri?.scheme === 'file' || uri?.scheme === 'untitled';
  await vscode.commands.executeCommand('askls.ask', {
    prompt,
    threadId: lastThread,
    ...(isKnown && { uri: uri.toString() }),
    ...(isKnown && selection !== undefined && { range: client?.code2ProtocolConverter.asRange(selection) }),
  });
}

async function offerSettings(text: string): Promise<void> {
  const choice = await vscode.window.showErrorMessage(`Askls: ${text}`, 'Open Settings');
  if (choice === 'Open Settings') await vscode.commands.executeCommand('workbench.action.openSettings', 'askls.serverPath');
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
