import { expect, test } from 'vitest';
import { ENTITIES } from '../../core/config/entities.ts';
import { runCli } from './support/run-cli.ts';

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

test.for(['zsh', 'bash', 'fish', 'powershell'])(
  '%s gets a function that runs the program, and its completion',
  async (shell) => {
    const { code, stdout } = await runCli('completion', shell);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^(function )?crm-export.*cli\/main\.js/);
    expect(stdout).toContain(`# ${shell} completion for crm-export`);
  },
);
