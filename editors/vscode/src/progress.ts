// The server's progress as notifications with a Cancel button: by itself the language client shows progress in the
// status bar only, where nothing can be cancelled.
import * as vscode from 'vscode';
import type { Middleware, ProgressToken, WorkDoneProgressBegin, WorkDoneProgressReport } from 'vscode-languageclient/node';

type Shown = { report(message: string | undefined): void; close(): void };

export class ProgressNotifications {
  private readonly shown = new Map<ProgressToken, Shown>();

  /** `cancel` is called with the token of the progress whose Cancel button was pressed. */
  constructor(private readonly cancel: (token: ProgressToken) => void) {}

  readonly handle: NonNullable<Middleware['handleWorkDoneProgress']> = (token, params, next) => {
    if (params.kind === 'begin' && params.cancellable) return this.open(token, params);
    const shown = this.shown.get(token);
    if (shown === undefined) return next(token, params);
    if (params.kind === 'end') {
      this.close(token);
      // The client forgets the token only when it sees the end itself.
      return next(token, params);
    }
    shown.report((params as WorkDoneProgressReport).message);
  };

  /** For a server that died: it sends no end. */
  closeAll(): void {
    for (const token of [...this.shown.keys()]) this.close(token);
  }

  private open(token: ProgressToken, begin: WorkDoneProgressBegin): void {
    // VS Code opens the notification later; a short turn may have reported and ended by then.
    let message = begin.message;
    let notification: vscode.Progress<{ message?: string }> | undefined;
    const report = (next: string | undefined) => {
      message = next ?? message;
      notification?.report(message === undefined ? {} : { message });
    };
    const closed = new Promise<void>((close) => this.shown.set(token, { report, close }));
    const options = { location: vscode.ProgressLocation.Notification, title: begin.title, cancellable: true };
    void vscode.window.withProgress(options, (opened, cancellation) => {
      notification = opened;
      cancellation.onCancellationRequested(() => this.cancel(token));
      report(undefined);
      return closed;
    });
  }

  private close(token: ProgressToken): void {
    this.shown.get(token)?.close();
    this.shown.delete(token);
  }
}
