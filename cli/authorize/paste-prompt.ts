import { hiddenLines, type Input } from '../support/hidden-input.ts';
import { type Expected, judgeAnswer, type ServiceAnswer } from './authorization-answer.ts';

/** What a person pasted, understood or not. */
type Pasted = ServiceAnswer & { note?: string };

const AGAIN = 'Paste the whole address to which the browser was sent, or the code in it, and press Enter.';

/**
 * Reads the answer of the CRM from a person whose browser cannot reach this machine: the redirect address or the bare
 * code. Asks again for what it cannot parse.
 * @returns `code` rejects with a CommandError when the person or the CRM refused; `ended` settles when the input has
 *   ended or was understood; `code` stays open at the end of the input, for the browser may still come
 */
export function promptForPaste(expected: Expected, input: Input) {
  const lines = hiddenLines(input);
  const { promise: code, resolve, reject } = Promise.withResolvers<string>();
  code.catch(() => {});
  const readUntilUnderstood = async () => {
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
      const pasted = understand(line, expected);
      if (pasted?.note) input.print(`${pasted.note}\n`);
      if (pasted?.kind === 'refused') throw pasted.error;
      if (pasted?.kind === 'code') return resolve(pasted.code);
      if (pasted) input.print(`${pasted.why} ${AGAIN}\n`);
    }
  };
  return { code, ended: readUntilUnderstood().catch(reject), close: lines.close };
}

/** `undefined` for an empty line. */
function understand(line: string, expected: Expected): Pasted | undefined {
  // Addresses copied from a terminal may have line breaks in them.
  const text = line.trim();
  if (!text) return undefined;
  if (/^https?:/i.test(text)) return understandAddress(text.replace(/\s+/g, ''), expected);
  if (/^\??([^=&\s]+=[^&\s]*&)*(code|error|state)=[^\s]*$/.test(text)) {
    return judgeAnswer(new URLSearchParams(text), expected);
  }
  if (!/^[\x21-\x7e]{6,4096}$/.test(text)) return { kind: 'unusable', why: 'This was not understood.' };
  const note = 'Taken as a bare code. It was not checked against "state"; PKCE still protects it.';
  return { kind: 'code', code: text, note };
}

function understandAddress(text: string, expected: Expected): Pasted {
  const url = URL.parse(text);
  if (!url) return { kind: 'unusable', why: 'This address was not understood.' };
  if (url.searchParams.has('code_challenge')) {
    return { kind: 'unusable', why: 'This is the address to open, not the one to which the browser was sent then.' };
  }
  return judgeAnswer(url.searchParams, expected);
}
