// Stops sending to a server that fails again and again, and lets one request find out whether it is back.
export class CircuitBreaker {
  #state: "closed" | "open" | "trying" = "closed";
  #failures = 0; // in a row
  #openUntilMs = 0;

  constructor(
    readonly failuresMax: number,
    readonly pauseMs: number,
  ) {}

  /** Undefined: go on, and say afterwards how it went. Otherwise how long it stays shut. */
  blocked(nowMs: number): number | undefined {
    if (this.#state === "closed") return undefined;
    if (this.#state === "trying") return this.pauseMs; // one is finding out; the others come back later
    if (nowMs < this.#openUntilMs) return this.#openUntilMs - nowMs;
    this.#state = "trying";
    return undefined;
  }

  succeeded(): void {
    this.#state = "closed";
    this.#failures = 0;
  }

  failed(nowMs: number): void {
    this.#failures++;
    if (this.#state === "closed" && this.#failures < this.failuresMax) return;
    this.#state = "open";
    this.#openUntilMs = nowMs + this.pauseMs;
  }

  /** The request ended without telling anything about the server. */
  abandoned(): void {
    if (this.#state === "trying") this.#state = "open"; // its pause is over: the next one tries
  }
}
