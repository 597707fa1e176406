import { ListRulesCommand } from '@aws-sdk/client-eventbridge';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import type { Target } from '../support/target.ts';

/** Entities whose nightly rule is switched off in the account. */
export async function pausedRules({ events, stack }: Pick<Target, 'events' | 'stack'>): Promise<Entity[]> {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: `${stack}-` }));
  const off = new Set(Rules.filter(({ State }) => State === 'DISABLED').map(({ Name }) => Name));
  return ENTITIES.filter((entity) => off.has(`${stack}-${entity}`));
}
