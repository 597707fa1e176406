import { chooseColumns, compareColumns, type LastColumns, lastColumnsOf } from '../../core/columns/columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/crm-client.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { ERRORS, RunError } from '../../core/errors.ts';
import { planFor } from '../../core/export/plan.ts';
import { buildRequest } from '../../core/export/request.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import type { Target } from '../support/target.ts';
import { about, broken, type Finding, findingOf, holds, warning } from './check.ts';

/** Findings about the CRM: whether it answers, and whether its columns fit the configuration and the last export. */

interface AskOptions {
  now: () => Date;
  /** Whether the token was just refreshed. If so, a 401 is final. If not, a run would refresh the token first. */
  refreshed: boolean;
  refreshCommand: string;
  /** The deployment. The CRM's columns are compared with those of its newest published exports. */
  target: Pick<Target, 's3' | 'BucketName'>;
}

/** The CRM refused a token that should be valid; doctor refreshes it only with `--refresh`. */
class TokenRefused extends Error {}

/** Reads the columns of all entities, with one token and without a refresh. */
export async function askCrm(
  deployment: Deployment,
  tokens: Tokens,
  options: AskOptions,
): Promise<{ service: Finding; columns: Finding[] }> {
  const { baseUrl } = deployment.crm;
  const crm = createCrmClient({
    ...{ baseUrl, now: options.now, log: { info: () => undefined, error: () => undefined } },
    getAccessToken: async ({ rejected } = {}) => {
      if (rejected !== undefined) throw new TokenRefused();
      return tokens;
    },
  });
  const columns: Finding[] = [];
  const started = performance.now();
  try {
    for (const entity of ENTITIES) {
      const findings = await entityFindings(crm, deployment, entity, options.target);
      // An entity that is switched off cannot make a night fail.
      const { enabled } = deployment.entities[entity];
      columns.push(...findings.map((finding) => (enabled ? finding : softened(finding))));
    }
  } catch (error) {
    if (error instanceof TokenRefused) return { service: refused(options), columns: [] };
    return { service: findingOf(error), columns };
  }
  const each = Math.round((performance.now() - started) / ENTITIES.length);
  const service = holds(`The CRM answers at ${baseUrl} (${each} ms per list of fields).`);
  // An unreadable bucket concerns all entities, so it is reported once.
  return { service, columns: [...new Map(columns.map((finding) => [finding.of, finding])).values()] };
}

function refused({ refreshed, refreshCommand }: AskOptions): Finding {
  if (refreshed) return broken('The CRM answers 401 to a token that it has just issued.', ERRORS.AuthRefused.advice);
  const text =
    'The CRM refuses the stored access token before it expires (401), as it would after a person withdrew the grant. The lists of fields were not read.';
  return broken(text, `A run would refresh the token first. To try this now: ${refreshCommand}.`);
}

function softened(finding: Finding): Finding {
  if (finding.verdict !== 'broken') return finding;
  return { ...finding, verdict: 'warning', found: `${finding.found} (Its nightly rule is switched off.)`, exitCode: 0 };
}

/** @throws TokenRefused; RunError that concerns all entities */
async function entityFindings(crm: CrmClient, deployment: Deployment, entity: Entity, target: AskOptions['target']) {
  try {
    const fields = await readFields(crm, entity);
    // Without the newest export, the columns of the CRM are still checked.
    const unread: Finding[] = [];
    const last = await newestColumns(target, entity).catch((error: unknown) => {
      unread.push(about('changed', findingOf(error)));
      return undefined;
    });
    return [...columnsFindings(deployment, entity, fields, last), ...unread];
  } catch (error) {
    // A transient error concerns all entities: it is reported once and not retried for each.
    if (error instanceof TokenRefused || (error instanceof RunError && error.transient)) throw error;
    return [about(entity, findingOf(error))];
  }
}

/** The columns of the newest published export; `undefined` if there is none or its manifest has invalid content. */
async function newestColumns(target: AskOptions['target'], entity: Entity): Promise<LastColumns> {
  const manifests = createManifests(target);
  const unreadable = () => undefined;
  const pointer = await ifReadable(manifests.pointer(entity, 'latest'), unreadable);
  const manifest = pointer && (await ifReadable(manifests.manifest(pointer.manifestKey), unreadable));
  return manifest && lastColumnsOf(manifest);
}

/**
 * Checks columns and request by the rules of a run, and compares them with those of the newest export.
 * @param fields the fields that the CRM lists now
 */
export function columnsFindings(deployment: Deployment, entity: Entity, fields: Field[], last: LastColumns): Finding[] {
  const plan = deployment.entities[entity];
  const planned = planFor(plan, { entity });
  const findings: Finding[] = [];
  const warn = (of: string, found: string, advice: string) => findings.push(about(of, warning(found, advice)));
  let of: string = entity;
  try {
    const chosen = chooseColumns(planned, fields, last);
    const { requested, warnings } = chosen;
    buildRequest({ entity }, plan, deployment.crm, requested);
    const count = planned.columns === 'all' ? `All ${requested.length}` : `${requested.length} of ${fields.length}`;
    findings.push(about(entity, holds(`${count} columns that the CRM lists are exported.`)));
    const correct = 'The next run warns of this in its manifest. If it is not intended, correct the configuration.';
    if (warnings.length > 0) warn(`${entity}.except`, warnings.join(' '), correct);
    of = `${entity}.changed`;
    // If the columns of the newest export are unknown, no run fails because of changed columns.
    const changes = last && last !== 'unknown' ? compareColumns(planned, fields, chosen, last).warnings : [];
    const advice =
      'The next run exports the columns that are listed now. Its manifest has the changes. Inform its readers.';
    if (changes.length > 0) warn(of, changes.join(' '), advice);
  } catch (error) {
    findings.push(about(of, findingOf(error)));
  }
  return findings;
}
