import { createHash } from 'node:crypto';
import { html, Markup } from './html.ts';
import { STYLE } from './style.ts';

/** A page that needs nothing but itself. @param script its own; without one, none may run */
export function framed(title: string, body: Markup, script?: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy(script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
${body}
${script === undefined ? null : html`<script>${new Markup(script)}</script>\n`}</body>
</html>
`.text;
}

/** The page loads, sends and embeds nothing; only this style and this script count. */
function policy(script: string | undefined): string {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const own = `style-src ${hash(STYLE)}; script-src ${script === undefined ? "'none'" : hash(script)}`;
  return `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'`;
}
