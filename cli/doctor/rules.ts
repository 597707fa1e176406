import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { pausedRules } from '../schedule/rules.ts';
import type { Target } from '../support/target.ts';
import { type Check, ok, orWarning, warning } from './check.ts';

const ID = 'rules';

/**
 * Which nightly rules are enabled in the account. Somebody may have switched one off on purpose, so this never fails.
 * @param resume the command that switches rules on again
 */
export async function rulesCheck(
  target: Pick<Target, 'events' | 'stack'>,
  deployment: Deployment | undefined,
  resume: (entities: Entity[]) => string,
): Promise<Check> {
  const text = 'Which nightly rules are switched on could not be looked at.';
  return orWarning(ID, text, async () => judged(await pausedRules(target), deployment, resume));
}

function judged(off: Entity[], deployment: Deployment | undefined, resume: (entities: Entity[]) => string): Check {
  const wanted = (entity: Entity) => !deployment || deployment.entities[entity].enabled;
  const count = ENTITIES.length;
  const text =
    off.length === 0
      ? `All ${count} entities are exported every night.`
      : `${count - off.length} of ${count} entities are exported every night; switched off: ${off.join(', ')}.`;
  const against = off.filter(wanted);
  if (against.length > 0) {
    const wants = deployment ? ` The configuration wants ${against.join(', ')}.` : '';
    return warning(ID, `${text}${wants}`, `If these nights are wanted: ${resume(against)}`);
  }
  if (off.length === count) {
    return warning(ID, text, 'Set entities.NAME.enabled in the configuration and deploy, if nights are wanted.');
  }
  const still = ENTITIES.filter((entity) => !wanted(entity) && !off.includes(entity));
  if (still.length === 0) return ok(ID, text);
  return ok(ID, `${text} The configuration switches off ${still.join(', ')}: not deployed yet.`);
}
