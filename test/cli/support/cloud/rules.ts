import { ENTITIES, type Entity } from '../../../../core/config/entities.ts';
import type { Answers } from './answers.ts';
import { DEPLOYMENT } from './stack.ts';

interface Rules {
  /** Entities whose rule is switched off. */
  paused?: Entity[];
  /** The schedules of rules that are on, by entity. */
  schedules?: Partial<Record<Entity, string>>;
}

/** The nightly rules of a deployment. */
export function rules({ paused = [], schedules = {} }: Rules = {}, deployment = DEPLOYMENT): Answers {
  const prefix = `crm-export-${deployment}-`;
  const listed = ENTITIES.filter((entity) => paused.includes(entity) || schedules[entity] !== undefined).map(
    (entity) => ({
      Name: `${prefix}${entity}`,
      State: paused.includes(entity) ? 'DISABLED' : 'ENABLED',
      ScheduleExpression: schedules[entity],
    }),
  );
  return { ListRules: { Rules: listed } };
}
