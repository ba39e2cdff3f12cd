// A form whose every submission happens once: a double click joins the first, a reload goes on with the same key,
// and what is in doubt is cleared up before anything new is sent.
import { Client } from "./client.js";
import { CallRequest, Intent, Outcome, RefusedLocally } from "./intents.js";

export interface FormOptions {
  client?: Client;
  name?: string; // of the intent; the form's id, else its action
  encoding?: "form" | "json";
  headers?: Record<string, string>;
  /** Each ended submission. `resumed`: it had been begun before this page was loaded, or before this click. */
  onOutcome: (outcome: Outcome, about: { resumed: boolean; request: CallRequest }) => void;
  onError?: (error: unknown) => void; // nothing was sent
}

export interface GuardedForm {
  /** What is on its way, if anything is: also what a reload interrupted. */
  pending(): Promise<void> | undefined;
  stop(): void; // no longer handles the form's submissions
}

function requestOf(form: HTMLFormElement, submitter: HTMLElement | null, options: FormOptions): CallRequest {
  const data = new FormData(form);
  const name = submitter?.getAttribute("name");
  if (submitter && name) data.append(name, submitter.getAttribute("value") ?? "");
  const pairs: [string, string][] = [];
  data.forEach((value, field) => {
    if (typeof value !== "string") throw new RefusedLocally("files cannot be kept over a reload");
    pairs.push([field, value]);
  });
  const json = options.encoding === "json";
  const type = json ? "application/json" : "application/x-www-form-urlencoded";
  return {
    method: (form.getAttribute("method") ?? "POST").toUpperCase(),
    url: new URL(form.getAttribute("action") ?? "", document.baseURI).href,
    headers: { "Content-Type": type, ...options.headers },
    body: json ? JSON.stringify(Object.fromEntries(pairs)) : new URLSearchParams(pairs).toString(),
  };
}

export function guardForm(form: HTMLFormElement, options: FormOptions): GuardedForm {
  const client = options.client ?? new Client();
  const name = `form:${options.name ?? (form.id || form.getAttribute("action") || location.pathname)}`;
  let pending: Promise<void> | undefined;

  const run = async (intent: Intent, request: CallRequest, resumed: boolean): Promise<void> => {
    try {
      const outcome = await client.send(intent, request, { keepRequest: true });
      // Nothing is left to come back to: the next submission is another intent. In doubt, it stays this one.
      if (outcome.final || !intent.inDoubt) intent.forget();
      options.onOutcome(outcome, { resumed, request });
    } catch (error) {
      (options.onError ?? console.error)(error);
    }
  };
  const start = (intent: Intent, request: CallRequest, resumed: boolean): void => {
    pending = run(intent, request, resumed).finally(() => (pending = undefined));
  };

  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (pending) return; // a double click
    try {
      const request = requestOf(form, event.submitter, options);
      const intent = client.open(name);
      // Changed fields are another intent, and the one before may have happened: first learn what became of it.
      const unfinished = intent.request !== undefined && !intent.isFor(request) ? intent.request : undefined;
      start(intent, unfinished ?? request, unfinished !== undefined);
    } catch (error) {
      (options.onError ?? console.error)(error);
    }
  };

  if (Intent.exists(client.storage, name)) {
    const intent = client.open(name);
    if (intent.request) start(intent, intent.request, true);
  }
  form.addEventListener("submit", onSubmit);
  return {
    pending: () => pending,
    stop: () => form.removeEventListener("submit", onSubmit),
  };
}
