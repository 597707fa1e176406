import { PassThrough } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { promptForPaste } from '../../../cli/access/consent.ts';
import { askHidden } from '../../../cli/support/confirm.ts';

const expected = {
  state: 'the-state',
  crm: { authUrl: 'https://crm.example/auth', scopes: ['openid', 'global:export'] },
  configuration: 'config/dev.json',
};
const BACK = 'http://127.0.0.1:4444/callback';

function prompt({ isTTY = false } = {}) {
  const stream = Object.assign(new PassThrough(), { isTTY, setRawMode: () => stream });
  const said: string[] = [];
  const interrupts: number[] = [];
  const input = { stream, print: (text: string) => said.push(text), interrupt: () => interrupts.push(1) };
  const asking = promptForPaste(expected, input);
  onTestFinished(asking.close);
  return { ...asking, stream, input, said: () => said.join(''), interrupts };
}

const understood: [string, string, string][] = [
  ['the full address', `${BACK}?code=the%2Bcode&state=the-state`, 'the+code'],
  ['the full address with blanks around it and in it', `  ${BACK}?code=abc&st ate=the-state\t`, 'abc'],
  ['an address under which another machine is reached', 'https://else.example/?state=the-state&code=abc', 'abc'],
  ['the query alone', '?code=abc&state=the-state', 'abc'],
  ['the query alone, without its question mark', 'state=the-state&code=abc', 'abc'],
  ['the bare code', ' 4/0AX4XfWh-abc_def== ', '4/0AX4XfWh-abc_def=='],
];

test.for(understood)('%s is understood', async ([, line, code]) => {
  const asking = prompt();
  asking.stream.write(`${line}\n`);
  expect(await asking.code).toBe(code);
});

const refused: [string, string, RegExp][] = [
  ['the address of another authorization', `${BACK}?code=abc&state=another`, /belongs to another authorization/],
  ['an address without a state', `${BACK}?code=abc`, /belongs to another authorization/],
  ['an address without a code', `${BACK}?state=the-state`, /holds no code/],
  ['the address to open', 'https://crm.example/auth/authorize?code_challenge=x&state=the-state', /address to open/],
  ['an address that is none', 'https://', /address was not understood/],
  ['words', 'where do I find it', /not understood/],
  ['a letter', 'y', /not understood/],
];

test.for(refused)('%s is refused with a sentence, and asked for again', async ([, line, sentence]) => {
  const asking = prompt();
  asking.stream.write(`${line}\n\n${BACK}?code=right&state=the-state\n`);
  expect(await asking.code).toBe('right');
  expect(asking.said()).toMatch(sentence);
  expect(asking.said().match(/press Enter/g)).toHaveLength(1);
  expect(asking.said()).not.toContain(line);
});

test('a bare code is taken with a note on what still protects it', async () => {
  const asking = prompt();
  asking.stream.write('a-bare-code\n');
  await asking.code;
  expect(asking.said()).toMatch(/not checked against "state"; PKCE still protects/);
  expect(asking.said()).not.toContain('a-bare-code');
});

test('a pasted refusal ends it, and scopes that are not known are named', async () => {
  const asking = prompt();
  asking.stream.write(`${BACK}?error=invalid_scope&error_description=No.&state=the-state\n`);
  await expect(asking.code).rejects.toThrow(
    'The CRM refused the authorization: invalid_scope. These scopes were requested: openid global:export. Change crm.scopes in config/dev.json.',
  );
});

test('on a terminal nothing of what is typed is shown, and Ctrl-C interrupts', async () => {
  const asking = prompt({ isTTY: true });
  asking.stream.write('\x1b[200~a-bare-code\x1b[201~\r');
  expect(await asking.code).toBe('a-bare-code');
  expect(asking.said()).not.toContain('a-bare-code');

  const interrupted = prompt({ isTTY: true });
  interrupted.stream.write('half\x03');
  await interrupted.ended;
  expect(interrupted.interrupts).toEqual([1]);
});

test('a secret is requested once, and its end of line is not part of it', async () => {
  const stream = new PassThrough();
  const said: string[] = [];
  const input = { stream, print: (text: string) => said.push(text) };
  const asked = askHidden(input, 'Secret: ');
  stream.write(' s3cret with blanks \r\n');
  expect(await asked).toBe('s3cret with blanks');
  expect(said).toEqual(['Secret: ', '\n']);
  stream.end();
  expect(await askHidden({ ...input, stream: new PassThrough().end() }, 'Secret: ')).toBeUndefined();
});
