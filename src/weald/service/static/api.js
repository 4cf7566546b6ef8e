// The page of the API, from the OpenAPI document of the service.
"use strict";

function operation(path, method, one, schemas) {
  const parts = [element("h2", {}, element("code", {}, `${method.toUpperCase()} ${path}`), ` ${one.summary}`)];
  const body = one.requestBody && one.requestBody.content["application/json"];
  if (body) {
    const example = Object.values(body.examples)[0].value;
    parts.push(element("h3", {}, "Request"), properties(schemas.Request), element("pre", {}, command(path, example)));
    parts.push(element("h3", {}, "Answer"), properties(schemas.Answer), element("h3", {}, "Columns of a row"), columns(schemas.Row));
  }
  parts.push(element("h3", {}, "Responses"), responses(one.responses));
  return element("section", { class: "operation" }, ...parts);
}

function command(path, example) {
  const token = sessionStorage.getItem(TOKEN) ? ' -H "Authorization: Bearer $WEALD_TOKEN"' : "";
  const body = JSON.stringify(example).replaceAll("'", "'\\''");
  return `curl ${location.origin}${path}${token} -H 'Content-Type: application/json' \\\n  -d '${body}'`;
}

function table(rows) {
  const lines = rows.map(([name, text]) =>
    element("tr", {}, element("th", { scope: "row" }, element("code", {}, name)), element("td", {}, text)));
  return element("table", { class: "plain" }, element("tbody", {}, ...lines));
}

function properties(schema) {
  return table(Object.entries(schema.properties).map(([name, one]) => [name, text(one)]));
}

function columns(schema) {
  const named = (schema.anyOf || [schema]).find((one) => one.properties);
  const list = (schema.anyOf || [schema]).find((one) => one.prefixItems);
  const names = named ? Object.keys(named.properties) : list.prefixItems.map((_, place) => `column ${place}`);
  return table(names.map((name, place) => [name, text(list.prefixItems[place])]));
}

function text(schema) {
  const kinds = schema.type ? [schema.type].flat().join(", ") : "";
  const examples = schema.examples ? ` Such as ${schema.examples.slice(0, 8).join(", ")}.` : "";
  return [kinds, schema.description].filter(Boolean).join(". ") + examples;
}

function responses(found) {
  return table(Object.entries(found).map(([status, one]) => [status, one.description]));
}

begin(async () => {
  const found = await ask("/openapi.json");
  byId("about").textContent = `${found.info.title}, model ${found.info.version}`;
  const parts = Object.entries(found.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => operation(path, method, one, found.components.schemas)));
  byId("content").replaceChildren(...parts);
});
