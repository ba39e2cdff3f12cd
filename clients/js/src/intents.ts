// Intents: what somebody wants to happen once, each with its key, kept before anything is sent. In a browser they
// are in sessionStorage: they outlive a reload and belong to one tab.
import { checkKey, lengthPrefixed, randomKey } from "./key.js";
import { sha256Hex } from "./sha256.js";

export interface Answer {
  status: number;
  headers: [string, string][];
  body: string;
}

export interface Outcome {
  ending: "succeeded" | "failed" | "unknown";
  final: boolean; // no later attempt with this key can change it
  fromIntent: boolean; // nothing was sent: an earlier send had ended already
  answer?: Answer;
  reason: string;
  operationId?: string;
  attempts: number;
}

export interface CallRequest {
  method?: string; // POST
  url: string;
  headers?: Record<string, string>;
  body?: string;
}

/** What of Storage is used, so that anything with these three will do. */
export interface KeyValueStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

export class MemoryStorage implements KeyValueStorage {
  readonly #entries = new Map<string, string>();
  getItem(name: string): string | null {
    return this.#entries.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.#entries.set(name, value);
  }
  removeItem(name: string): void {
    this.#entries.delete(name);
  }
}

interface Kept {
  key: string;
  digest?: string; // of the request that the key stands for
  identity?: string;
  inDoubt: boolean;
  request?: CallRequest; // kept by who must be able to send it again after a reload
  end?: Outcome;
}

const identityHeaders = ["authorization", "x-tenant-id"];

function headerOf(request: CallRequest, name: string): string {
  const found = Object.entries(request.headers ?? {}).find(([header]) => header.toLowerCase() === name);
  return found ? found[1] : "";
}

function digestOf(label: string, ...parts: string[]): string {
  return sha256Hex(lengthPrefixed(label, parts));
}

/** Thrown before anything is sent. */
export class RefusedLocally extends Error {
  override name = "RefusedLocally";
}

/** One intent. Its key cannot be changed: a new key is a new intent. */
export class Intent {
  readonly name: string;
  readonly #storage: KeyValueStorage;
  #kept: Kept;

  /** The intent of that name as it was left, or a new one. */
  constructor(storage: KeyValueStorage, name: string, keyIfNew?: string) {
    this.name = name;
    this.#storage = storage;
    const text = storage.getItem(Intent.#place(name));
    this.#kept = text ? (JSON.parse(text) as Kept) : { key: checkKey(keyIfNew ?? randomKey()), inDoubt: false };
  }

  static #place(name: string): string {
    return `onceward:intent:${name}`;
  }

  static exists(storage: KeyValueStorage, name: string): boolean {
    return storage.getItem(Intent.#place(name)) !== null;
  }

  get key(): string {
    return this.#kept.key;
  }
  /** Something was sent under this key and no answer has settled it. */
  get inDoubt(): boolean {
    return this.#kept.inDoubt;
  }
  get end(): Outcome | undefined {
    return this.#kept.end;
  }
  /** What was sent, where it was kept for a reload. */
  get request(): CallRequest | undefined {
    return this.#kept.request;
  }

  isFor(request: CallRequest): boolean {
    return this.#kept.digest === undefined || this.#kept.digest === Intent.#digest(request);
  }

  static #digest(request: CallRequest): string {
    const { method = "POST", url, body = "" } = request;
    return digestOf("onceward intent 1\n", method, url, headerOf(request, "content-type"), body);
  }

  /** Binds the key to the request and keeps both, in doubt: after a crash, anything may have been sent. */
  begin(request: CallRequest, keepRequest: boolean): void {
    const identity = digestOf("onceward identity 1\n", ...identityHeaders.map((name) => headerOf(request, name)));
    if (!this.isFor(request)) throw new RefusedLocally(`intent '${this.name}' was begun with another request`);
    // Another caller is another scope to most servers: there the key would be new, and the request run again.
    if (this.inDoubt && this.#kept.identity !== identity)
      throw new RefusedLocally(`intent '${this.name}' was begun with another identity`);
    const next: Kept = { ...this.#kept, digest: Intent.#digest(request), identity, inDoubt: true };
    if (keepRequest) next.request = request;
    this.#keep(next);
  }

  settle(inDoubt: boolean, end: Outcome | undefined): void {
    const next: Kept = { ...this.#kept, inDoubt };
    if (end) next.end = end;
    try {
      this.#keep(next);
    } catch {
      // A restart will ask the server again, which is safe; what the caller is told now is still true.
      this.#kept = next;
    }
  }

  /** What it was for can then happen again. */
  forget(): void {
    this.#storage.removeItem(Intent.#place(this.name));
  }

  #keep(next: Kept): void {
    this.#storage.setItem(Intent.#place(this.name), JSON.stringify(next));
    this.#kept = next;
  }
}
