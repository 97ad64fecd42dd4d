#include "api/reference_page.h"

namespace ctrlplane::api {

const std::string_view kReferencePage = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ctrlplane API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --accent: #2f6fdb; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 220px 1fr; }
nav { border-right: 1px solid var(--line); padding: 1rem; position: sticky; top: 0; height: 100vh;
      box-sizing: border-box; overflow: auto; }
nav a { display: block; color: inherit; text-decoration: none; padding: 2px 0; }
nav input { width: 100%; box-sizing: border-box; margin: .5rem 0; padding: .3rem; }
main { padding: 1rem 2rem; max-width: 60rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { padding: .4rem .6rem; cursor: pointer; }
details > div { padding: 0 .8rem .8rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { background: var(--soft); padding: .6rem; border-radius: 6px; overflow: auto; }
.m { display: inline-block; width: 4.2em; font-weight: 700; color: var(--accent); }
.perm { float: right; opacity: .65; font-size: 12px; }
table { border-collapse: collapse; } td { padding: 2px 12px 2px 0; vertical-align: top; }
</style></head><body>
<nav><strong>ctrlplane API</strong><input id="find" placeholder="find an operation" aria-label="find">
<div id="tags"></div><p><a href="/api/openapi.json">openapi.json</a></p></nav>
<main id="main"><p>Loading the description …</p></main>
<script>
const el = (tag, text, cls) => { const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
let doc;
const short = (s, depth = 0) => {
  if (!s || !Object.keys(s).length) return 'any';
  if (s.$ref) { const name = s.$ref.split('/').pop();
    return depth < 2 ? name + ' ' + short(doc.components.schemas[name], depth + 1) : name; }
  if (s.allOf) return s.allOf.map(p => short(p, depth)).join(' & ');
  if (s.anyOf) return s.anyOf.map(p => short(p, depth)).join(' | ');
  if (s.enum) return s.enum.map(v => JSON.stringify(v)).join(' | ');
  if (s.type === 'array') return '[' + short(s.items, depth) + ']';
  if (s.type === 'object' && s.properties) {
    const pad = '  '.repeat(depth + 1);
    return '{\n' + Object.entries(s.properties).map(([k, v]) => pad + k +
      ((s.required || []).includes(k) ? '' : '?') + ': ' +
      short(v, depth + 1).replace(/ \| null$/, '')).join(',\n') + '\n' + '  '.repeat(depth) + '}'; }
  if (s.type === 'object') return s.additionalProperties === true ? 'object' : 'map<' +
    short(s.additionalProperties, depth) + '>';
  return s.format || s.type;
};
const operation = (path, method, op) => {
  const d = el('details'), s = el('summary'), body = el('div');
  d.id = op.operationId; d.dataset.text = (method + path + op.summary + op.operationId).toLowerCase();
  s.append(el('span', method.toUpperCase(), 'm'), el('code', path), el('span', op['x-permission'] || '', 'perm'));
  d.append(s, body);
  d.addEventListener('toggle', () => {
    if (body.childNodes.length) return;
    body.append(el('p', op.summary));
    const params = (op.parameters || []).filter(p => p.in !== 'header');
    if (params.length) { const t = el('table');
      for (const p of params) { const r = el('tr'); r.append(el('td', p.name), el('td', p.in),
        el('td', short(p.schema)), el('td', p.description || '')); t.append(r); }
      body.append(t); }
    const json = x => x && x.content && (x.content['application/json'] || {}).schema;
    if (json(op.requestBody)) body.append(el('h4', 'Body'), el('pre', short(json(op.requestBody))));
    for (const [code, r] of Object.entries(op.responses)) { if (code === 'default') continue;
      body.append(el('h4', code + ' ' + r.description));
      if (json(r)) body.append(el('pre', short(json(r)))); }
  });
  return d;
};
fetch('/api/openapi.json').then(r => r.json()).then(d => {
  doc = d; const main = document.getElementById('main'); main.textContent = '';
  main.append(el('h1', 'ctrlplane API ' + d.info.version));
  const tags = new Map();
  for (const [path, ops] of Object.entries(d.paths)) for (const [method, op] of Object.entries(ops)) {
    const tag = op.tags[0]; if (!tags.has(tag)) tags.set(tag, []);
    tags.get(tag).push(operation(path, method, op)); }
  for (const [tag, list] of tags) { const h = el('h2', tag); h.id = 'tag-' + tag; main.append(h, ...list);
    const a = el('a', tag); a.href = '#tag-' + tag; document.getElementById('tags').append(a); }
  document.getElementById('find').addEventListener('input', e => {
    const wanted = e.target.value.toLowerCase();
    for (const x of document.querySelectorAll('details')) x.hidden = !x.dataset.text.includes(wanted); });
});
</script></body></html>
)html";

}  // namespace ctrlplane::api
