import { onTestFinished, vi } from 'vitest';
import { runCommandLine } from '../../../cli/program.ts';

/** What a command line wrote, and its exit code. */
export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Nothing of the person's own AWS is used, and no address outside of this machine is asked for credentials. */
export const WITHOUT_AWS = {
  ...{ AWS_ENDPOINT_URL: undefined, AWS_PROFILE: undefined, AWS_REGION: undefined, AWS_DEFAULT_REGION: undefined },
  ...{ AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined, AWS_SESSION_TOKEN: undefined },
  ...{ AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined },
  ...{ AWS_WEB_IDENTITY_TOKEN_FILE: undefined, AWS_EC2_METADATA_DISABLED: 'true' },
  ...{ AWS_CONFIG_FILE: '/nonexistent', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', NO_COLOR: '1' },
};

/** Runs a command line in this process, which is quicker than a process of its own. Not for commands that follow. */
export async function runCli(...args: string[]): Promise<CliResult> {
  for (const [name, value] of Object.entries(WITHOUT_AWS)) vi.stubEnv(name, value);
  const written = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((chunk) => {
      written[name] += String(chunk);
      return true;
    }),
  );
  // What the library for completion prints with.
  const log = vi.spyOn(console, 'log').mockImplementation((line) => {
    written.stdout += `${line}\n`;
  });
  onTestFinished(() => void vi.unstubAllEnvs());
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    const code = await runCommandLine(args);
    return { code, ...written };
  } finally {
    process.exitCode = before;
    for (const spy of [...spies, log]) spy.mockRestore();
  }
}
