import { EventEmitter } from "node:events";

export interface Job<T> {
  id: string;
  payload: T;
  attempts: number;
}

export type Worker<T> = (job: Job<T>) => Promise<void>;

/** Runs jobs one after the other, and again when they fail. */
export class Queue<T> extends EventEmitter {
  private readonly waiting: Job<T>[] = [];
  private running = false;

  constructor(
    private readonly worker: Worker<T>,
    private readonly maxAttempts = 3,
  ) {
    super();
  }

  push(id: string, payload: T): void {
    this.waiting.push({ id, payload, attempts: 0 });
    // Starting here keeps callers from having to.
    void this.run();
  }

  private async run(): Promise<void> {
    if (this.running) {
      return;
    }
    this.running = true;
    while (this.waiting.length > 0) {
      const job = this.waiting.shift()!;
      try {
        job.attempts += 1;
        await this.worker(job);
        this.emit("done", job.id);
      } catch (error) {
        // The last try decides.
        if (job.attempts < this.maxAttempts) {
          this.waiting.push(job);
        } else {
          this.emit("failed", job.id, error);
        }
      }
    }
    this.running = false;
  }

  get size(): number {
    return this.waiting.length;
  }
}

export function describe(queue: Queue<unknown>): string {
  const noun = queue.size === 1 ? "job" : "jobs";
  return `<b>${queue.size}</b> ${noun} & more`;
}
