import { DescribeRuleCommand, DisableRuleCommand, EnableRuleCommand } from '@aws-sdk/client-eventbridge';
import type { Entity } from '../../core/config/entities.ts';
import { enabledIn, isDated } from '../runs/start-run.ts';
import { isGone, partialFailure, RESTORE } from '../support/aws-error.ts';
import { commandFor, entitiesOrAll } from '../support/command-options.ts';
import { deployedConfiguration, warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';

type PauseOptions = TargetOptions & { all?: boolean };

/** Runs the command `pause`, which switches the nightly rules of entities off. */
export async function pause(named: Entity[], options: PauseOptions): Promise<void> {
  const entities = entitiesOrAll(named, options.all);
  const target = await connect(options);
  warnUnsettled(target);
  await switchRules(target, entities, 'DISABLED');
  printErr(PAUSED);
}

const PAUSED = `While an enabled entity is paused, its nights are incomplete: the alarm NightIncomplete sends a mail for each night, and status says why. An entity that does not start once a day, or has its own freshnessHours, raises the alarm NoPublishedExport.
A deployment that changes a rule resets it to the configuration. To switch an entity off permanently, set entities.ENTITY.enabled to false and deploy.`;

/** Runs the command `resume`, which switches the nightly rules of entities on again. */
export async function resume(named: Entity[], options: PauseOptions): Promise<void> {
  const asked = entitiesOrAll(named, options.all);
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  const entities = options.all ? enabledIn(deployed) : asked;
  await switchRules(target, entities, 'ENABLED');
  const against = entities.filter((entity) => !deployed.entities[entity].enabled);
  if (against.length > 0) {
    printErr(
      `The configuration has switched off ${against.join(', ')}: a deployment that changes the rule switches it off again.`,
    );
  }
  const start = commandFor(`start ${options.all ? '--all' : entities.join(' ')}`, options);
  printErr(`resume does not export missed nights.\nTo export the current records: ${start}`);
  for (const entity of entities.filter((each) => isDated(deployed, each)))
    printErr(`Past dates of ${entity}: ${commandFor(`backfill ${entity} --from DATE --to DATE`, options)}`);
}

type Switch = 'ENABLED' | 'DISABLED';

async function switchRules(target: Target, entities: Entity[], state: Switch): Promise<void> {
  const word = state === 'ENABLED' ? 'on' : 'off';
  const switched: Entity[] = [];
  for (const entity of entities) {
    const rule = `${target.stack}-${entity}`;
    const isChanged = await switchRule(target.events, rule, state).catch((error: unknown) => {
      if (switched.length === 0) throw error;
      throw partialFailure(error, `Already switched ${word}: ${switched.join(', ')}; not switched ${word}: ${entity}.`);
    });
    switched.push(entity);
    printOut(`${entity}: ${isChanged ? `switched ${word}` : `was already ${word}`} (rule ${rule}).`);
  }
}

/** @returns whether the state of the rule changed @throws CommandError (exit code 3) if the stack has no such rule */
async function switchRule(events: Target['events'], Name: string, state: Switch): Promise<boolean> {
  try {
    if ((await events.send(new DescribeRuleCommand({ Name }))).State === state) return false;
    const Command = state === 'ENABLED' ? EnableRuleCommand : DisableRuleCommand;
    await events.send(new Command({ Name }));
    return true;
  } catch (error) {
    if (!isGone(error)) throw error;
    throw new CommandError(`There is no rule ${Name}. ${RESTORE}.`, ENVIRONMENT, { cause: error });
  }
}
