// What follows when the server dies: it is started again, however the editor comes to know.
import { ErrorAction, type ErrorHandler } from 'vscode-languageclient/node';

/**
 * By itself the language client takes a pipe that breaks while it writes for a reason to stop for good, so whoever typed
 * at the moment of a crash had no server any more. A broken pipe is closed next, and what is closed is started again as
 * the default says: at most four times in three minutes.
 */
export function restartsWhatBroke(createDefault: () => ErrorHandler): ErrorHandler {
  let known: ErrorHandler | undefined;
  // Made late: the default belongs to a client, which this is an option of.
  const otherwise = () => (known ??= createDefault());
  return {
    error: (error, message, count) =>
      isOfPipe(error) ? { action: ErrorAction.Continue, handled: true } : otherwise().error(error, message, count),
    closed: () => otherwise().closed(),
  };
}

/** Whether a stream failed (`EPIPE`, `ERR_STREAM_DESTROYED` ...); what is wrong with a message itself has no such code. */
function isOfPipe(error: Error): boolean {
  return 'code' in error && typeof error.code === 'string';
}
