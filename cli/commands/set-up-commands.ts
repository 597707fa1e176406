import { Option } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import { entityArgument, numberArgument, pathArgument } from '../support/command-options.ts';
import { type Definition, JSON_ALONE } from './define-command.ts';

export const SET_UP_COMMANDS = {
  init: {
    about: 'ask for the settings of a new deployment, and write its configuration',
    // The questions that init asks are the texts of these options.
    takes: (command) =>
      command
        .option('--crm-url <url>', 'address of the interface of the CRM; ends in /api/v1')
        .option('--auth-url <url>', 'address of the CRM before /authorize and /oauth/token')
        .option('--time-zone <zone>', 'IANA time zone in which a run gets its date; default: UTC')
        .option('--at <HH:MM>', 'start of the night in that time zone; default: 01:00 UTC')
        .option(
          '--entities <names>',
          `entities to export every night, separated by commas: ${ENTITIES.join(', ')}; default: all`,
        )
        .option(
          '--email <addresses>',
          'addresses that receive a mail for every alarm, separated by commas; default: none',
        )
        .option('--configuration <file>', 'the file to write; default: config/NAME.json', pathArgument),
    examples: {
      'init --deployment prod': 'the command asks for the other settings, shows each default, and checks each answer',
      'init --deployment prod --crm-url https://crm.example/api/v1 --auth-url https://auth.example':
        'without a terminal, these three options are required',
    },
    action: async () => (await import('../access/init.ts')).init,
  },
  authorize: {
    about: 'let a person consent, and store the grant',
    takes: (command) =>
      command
        .option(
          '--client-id <id>',
          'the OAuth client; its secret comes from CRM_CLIENT_SECRET, or is asked for. Default: the stored client, with its secret',
        )
        .option('--new-secret', 'the client has a new secret, which is read from CRM_CLIENT_SECRET or asked for')
        .option('--replace', 'replace a working grant even if the new one has fewer scopes than the deployment needs')
        .option(
          '--run <entity>',
          'afterwards, start a run of this entity, which refreshes the grant, and wait for its end',
          entityArgument,
        )
        .option('--port <number>', 'port of the callback on 127.0.0.1; default: any free', numberArgument(0, 65_535))
        .addOption(
          new Option(
            '--redirect-uri <uri>',
            'the redirect URI exactly as registered, e.g. http://localhost:8400/callback',
          ).conflicts('port'),
        )
        .option('--timeout <seconds>', 'how long to wait for the person', numberArgument(1, 86_400), 300)
        .option('--paste', 'read the redirect address or the code from standard input; default in a terminal')
        .option('--no-browser', 'only print the address of the consent page'),
    examples: {
      'authorize --deployment prod --client-id 1a2b3c --port 8400': 'the first time; asks for the secret of the client',
      'authorize --deployment prod --port 8400 --run leads':
        'again, with the stored client; the run shows that a night can refresh the grant',
      'authorize --deployment prod --port 8400 --new-secret': 'after the CRM gave the client a new secret; asks for it',
      'authorize --deployment prod --redirect-uri https://crm.example/back --paste': 'if this machine has no browser',
    },
    action: async () => (await import('../access/authorize.ts')).authorizeAndPrint,
  },
  probe: {
    about: 'compare the answers of the CRM with its interface document',
    takes: (command) =>
      command
        .option('--configuration <file>', 'file with the keys of `extra`; default: config/NAME.json', pathArgument)
        .option(
          '--entity <name>',
          'the entity to export; default: the first whose fields the CRM lists',
          entityArgument,
        )
        .option('--json', JSON_ALONE),
    examples: {
      'probe --deployment prod': 'read the fields of all entities, and export one column of one of them',
      'probe --deployment prod --entity meetings': 'export a column of meetings',
    },
    action: async () => (await import('../health/probe.ts')).probe,
  },
} satisfies Record<string, Definition>;
