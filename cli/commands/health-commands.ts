import { ENTITIES } from '../../core/config/entities.ts';
import {
  dateArgument,
  entitiesArgument,
  entityArgument,
  numberArgument,
  outputArgument,
  pathArgument,
} from '../support/command-options.ts';
import { DATE_OF_RUN, type Definition, JSON_ALONE } from './define-command.ts';

export const HEALTH_COMMANDS = {
  report: {
    about: 'write the last nights as one HTML page',
    takes: (command) =>
      command
        .option('--nights <number>', 'how many nights', numberArgument(1, 400), 30)
        .option(
          '-o, --output <file>',
          'the file to write, replaced if it exists; - is standard output; default: report.html',
          outputArgument,
        ),
    examples: {
      'report --deployment prod': 'the last 30 nights into report.html',
      'report --nights 90 -o /srv/www/exports.html --deployment prod':
        'the last 90 nights, into a folder that others can read',
    },
    action: async () => (await import('../report/night-report.ts')).report,
  },
  plan: {
    about: 'show what a run would request, the next starts and the checks',
    takes: (command) =>
      command
        .argument('[entity...]', `default: ${ENTITIES.join(', ')}`, entitiesArgument)
        .option('--date <YYYY-MM-DD>', DATE_OF_RUN, dateArgument)
        .option(
          '--configuration <file>',
          'read this file only, and do not read the rules; default: config/NAME.json',
          pathArgument,
        )
        .option('--json', 'print one JSON document for each entity, each on one line'),
    examples: {
      'plan leads --deployment prod': 'what a run would request today, when the next runs start, and what stops a file',
      'plan --date 2026-03-01 --json --deployment prod': 'all entities for a date, for a program',
    },
    action: async () => (await import('../night/nightly-plan.ts')).plan,
  },
  doctor: {
    about: 'check whether a nightly run would work; changes nothing',
    takes: (command) =>
      command
        .option('--configuration <file>', 'the file to compare; default: config/NAME.json', pathArgument)
        .option('--refresh', 'also refresh the grant once, which spends the current refresh token')
        .option('--all', 'also print the checks that passed')
        .option('--json', 'print one JSON document'),
    examples: {
      'doctor --deployment prod': 'after authorize, and when a night has failed',
      'doctor --deployment prod --refresh': 'also try the refresh token, which spends it',
    },
    action: async () => (await import('../health/doctor.ts')).doctorAndPrint,
  },
  verify: {
    about: 'test the deployment: an export, an alarm, the rules, encryption',
    takes: (command) =>
      command
        .option('--entity <name>', `the entity to export: ${ENTITIES.join(', ')}; default: leads`, entityArgument)
        .option('--alarm', 'also set an alarm by hand, which sends a mail to all subscribers of alarms')
        .option('--json', JSON_ALONE),
    examples: {
      'verify --deployment prod': 'after the first deployment, and after an upgrade',
      'verify --deployment prod --entity customers --alarm': 'export customers, and see an alarm arrive',
      'verify --deployment prod --json': 'print the results as a JSON document',
    },
    action: async () => (await import('../health/verify.ts')).verifyAndPrint,
  },
} satisfies Record<string, Definition>;
