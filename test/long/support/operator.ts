import { approveConsent } from '../../../sandbox/approve.ts';
import type { Deployed } from '../../e2e/support/deployed.ts';
import { run } from '../../support/running.ts';

interface Said {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A person who runs the commands of the runbook with the names filled in. */
export interface Operator {
  type(command: string): Promise<Said>;
  cli(...args: string[]): Promise<Said>;
}

/** Commands that read the configuration, which is elsewhere for test deployments. */
const READS_CONFIGURATION = ['doctor'];

export function operatorOf(system: Deployed, names: Record<string, string> = {}): Operator {
  const today = new Date().toISOString().slice(0, 10);
  const filled: Record<string, string> = { DATE: today, CLIENT: system.sandbox.clientId, ...names };
  const cli = (...args: string[]) => runCommand(system, args);
  const type = async (command: string): Promise<Said> => {
    const words = command.replace(/\b[A-Z]{3,}\b/g, (name) => filled[name] ?? name).split(' ');
    const [program, ...rest] = words;
    if (program === 'npx' && rest[0] === 'cdk') return deployment(system, rest[1]);
    if (rest.slice(0, 3).join(' ') !== '--no -- crm-export') throw new Error(`Nobody here can type: ${command}`);
    const named = (n: number) => rest[n] === '--deployment' || rest[n - 1] === '--deployment';
    return cli(...rest.filter((_, n) => n > 2 && !named(n)));
  };
  return { type, cli };
}

/** Runs `npx cdk deploy` and `npx cdk destroy` with the real CLI and the configuration of the test. */
async function deployment(system: Deployed, verb: string | undefined): Promise<Said> {
  if (verb === 'destroy') await system.destroy();
  else await system.deploy();
  return { code: 0, stdout: `${verb} done`, stderr: '' };
}

async function runCommand(system: Deployed, args: string[]): Promise<Said> {
  const name = args[0] ?? '';
  const configuration = READS_CONFIGURATION.includes(name) ? ['--configuration', system.configurationFile] : [];
  const env = { AWS_ENDPOINT_URL: undefined, NO_COLOR: '1', CRM_CLIENT_SECRET: system.sandbox.clientSecret };
  const command = run('cli/main.js', [...args, ...system.place, ...configuration], env);
  if (name === 'authorize') {
    const [, url = ''] = await command.says(/^Open: (http\S+)$/m);
    await approveConsent(url);
  }
  return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
}
