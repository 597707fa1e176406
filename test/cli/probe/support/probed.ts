import { onTestFinished } from 'vitest';
import type { ProbeDeps } from '../../../../cli/probe/conversation/converse.ts';
import { consentedGrant, type Granted } from '../../../../cli/probe/grant.ts';
import { type Probed, probe } from '../../../../cli/probe/probe.ts';
import type { Sighting } from '../../../../cli/probe/sightings/sighting.ts';
import { approveConsent } from '../../../../sandbox/approve.ts';
import { type Sandbox, startSandbox } from '../../../../sandbox/sandbox.ts';
import type { FaultInput } from '../../../../sandbox/world/fault-schema.ts';
import type { SandboxOptions } from '../../../../sandbox/world/settings.ts';
import { deployment } from '../../../support/builders.ts';

/** A sandbox for the length of a test. */
export async function sandboxFor(options: SandboxOptions = {}, faults: FaultInput[] = []): Promise<Sandbox> {
  const sandbox = await startSandbox({ rows: 5, ...options });
  onTestFinished(() => sandbox.close());
  for (const fault of faults) sandbox.faults.add(fault);
  return sandbox;
}

/** The grant of a person who consents at once, by the code of `probe --configuration`. */
export function grantedBy(sandbox: Sandbox, settings: Parameters<typeof deployment>[0] = {}): Promise<Granted> {
  const { baseUrl, authUrl, clientId, clientSecret } = sandbox;
  const { crm } = deployment({ ...settings, crm: { baseUrl, authUrl, ...settings?.crm } });
  return consentedGrant(crm, { clientId, clientSecret, onUrl: approveConsent });
}

/** Probes a CRM without waiting: its clock goes forward by what is slept. */
export async function probed(
  { baseUrl, issueTokens }: Pick<Sandbox, 'baseUrl'> & Partial<Pick<Sandbox, 'issueTokens'>>,
  given: Partial<Omit<ProbeDeps, 'deployment'>> & { configuration?: Parameters<typeof deployment>[0] } = {},
): Promise<Probed & { of: (id: Sighting['id']) => Sighting; otherwise: string[] }> {
  const { configuration, ...deps } = given;
  let slept = 0;
  const tokens = issueTokens?.() ?? { accessToken: 'a', scopes: [], expiresInSeconds: 3600 };
  const settings = { ...configuration, crm: { baseUrl, ...configuration?.crm } };
  const result = await probe({
    deployment: deployment(settings),
    accessToken: tokens.accessToken,
    grant: {
      from: 'exchanged',
      clientAuthentication: 'basic',
      clientRefused: null,
      scope: tokens.scopes.join(' '),
      oddLife: false,
      lifeSeconds: tokens.expiresInSeconds,
      ageSeconds: 0,
    },
    deadlineSeconds: 60,
    elapsed: () => performance.now() + slept,
    sleep: async (ms) => {
      slept += ms;
    },
    signal: new AbortController().signal,
    confirmHost: async () => false,
    ...deps,
  });
  const of = (id: Sighting['id']) => {
    const found = result.sightings.find((one) => one.id === id);
    if (!found) throw new Error(`There is no sighting of ${id}.`);
    return found;
  };
  const otherwise = result.sightings.filter(({ verdict }) => verdict === 'otherwise').map(({ id }) => id);
  return { ...result, of, otherwise };
}
