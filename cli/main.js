#!/usr/bin/env node
// JavaScript that Node 20 reads: a linked command is started by whatever Node the machine has, and strips no types there.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const compiled = join(checkout, '.cache', 'compiled');
const ownNode = join(checkout, 'node_modules', 'node', 'bin', 'node');

// For messages that name a command to type: core/commands.ts. npx starts a link of its own, which no shell finds.
const isLinked = basename(process.argv[1]) === 'crm-export' && process.env.npm_command !== 'exec';
if (isLinked) process.env.CRM_EXPORT_COMMAND = 'crm-export';
else delete process.env.CRM_EXPORT_COMMAND;

if (!existsSync(ownNode)) {
  process.stderr.write(`The packages of this command are not installed: run npm ci in ${checkout}\n`);
  process.exitCode = 3;
} else if (realpathSync(ownNode) === realpathSync(process.execPath)) {
  // Before all other modules are compiled.
  module.enableCompileCache(compiled);
  await import('./main.ts');
} else startByOwnNode();

function startByOwnNode() {
  const program = fileURLToPath(new URL('main.ts', import.meta.url));
  const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
  const isTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  // Before the start: a signal may come right after it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // A terminal sends Ctrl-C to both, and a second one would break off what the first one ends.
    process.on(signal, () => void (signal !== 'SIGTERM' && isTerminal ? undefined : child.kill(signal)));
  }
  const child = spawn(ownNode, [program, ...process.argv.slice(2)], { stdio: 'inherit', env });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
