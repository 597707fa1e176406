import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { tempDir } from '../support/project.ts';
import { expectTexts } from '../support/screen.ts';
import { runCli } from './support/run-cli.ts';

/** The completions for the last word. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout } = await runCli('complete', '--', ...words);
  expect(code).toBe(0);
  const lines = stdout.trimEnd().split('\n');
  // The shell must not offer file names instead.
  expect(lines.at(-1)).toBe(':4');
  return lines.slice(0, -1).map((line) => line.split('\t')[0] ?? '');
}

test('completes commands, options, entities and deployments', async () => {
  expect(await offered('st')).toEqual(['status', 'start', 'stop']);
  expect(await offered('start', 'leads', '')).toEqual([...ENTITIES]);
  expect(await offered('follow', 'c')).toEqual(['contacts', 'customers']);
  expect(await offered('pause', '--a')).toEqual(['--all']);
  expect(await offered('start', '--deployment', '')).toEqual(['example', 'local']);
  expect(await offered('doctor', '--deployment', 'ex')).toEqual(['example']);
  expect(await offered('completion', 'z')).toEqual(['zsh']);
});

test('shows the default of an option, unless it is a switch', async () => {
  const options = ['list --si', 'report --ni', 'authorize --no'];
  const texts = options.map(
    async (line) => [line, (await runCli('complete', '--', ...line.split(' '))).stdout] as const,
  );
  await expectTexts('completion', await Promise.all(texts));
});

test.for(['zsh', 'bash', 'fish', 'powershell'])(
  '%s gets a function that runs the program, and its completion',
  async (shell) => {
    const { code, stdout } = await runCli('completion', shell);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^(function )?crm-export.*cli\/main\.js/);
    expect(stdout).toContain(`# ${shell} completion for crm-export`);
  },
);

test('bash completes a command with the script', async () => {
  const directory = await tempDir();
  await writeFile(join(directory, 'crm-export.sh'), (await runCli('completion', 'bash')).stdout);
  // Replaces the package bash-completion, for a line without "=" and ":".
  const script = String.raw`
    _get_comp_words_by_ref() { words=("$\{COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=$\{words[cword]}; prev=$\{words[cword-1]}; }
    set -u; source crm-export.sh; source crm-export.sh
    COMP_WORDS=(crm-export fol); COMP_CWORD=1; __crm_export_complete; echo "$\{COMPREPLY[@]}"`.replaceAll('\\{', '{');
  expect(
    execFileSync('bash', ['-c', script], { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  ).toMatch(/^follow\b/);
});
