"""What a service says of itself: the model with its columns, and the OpenAPI document."""

from typing import Any

from weald.service.answers import as_json
from weald.service.columns import InputColumn
from weald.service.serving import ServedModel, typical_row
from weald.version import __version__

Json = dict[str, Any]

_ERROR = {"$ref": "#/components/schemas/Error"}


class Documents:
    """The documents of a model, written once when it is loaded.

    Parameters
    ----------
    model : ServedModel
        The model.
    max_rows : int
        Rows of a request.
    needs_token : bool
        Whether requests must bring a token.

    Attributes
    ----------
    model, openapi : bytes
        JSON.
    """

    def __init__(self, model: ServedModel, max_rows: int, *, needs_token: bool) -> None:
        self.model = as_json(_description(model))
        self.openapi = as_json(openapi_of(model, max_rows, needs_token=needs_token))


def _description(model: ServedModel) -> Json:
    return {
        "model": model.fingerprint,
        "class": model.kind,
        "weald": __version__,
        "classes": model.classes,
        "probabilities": model.has_probabilities,
        "coverages": None if model.coverages is None else [*model.coverages],
        "attributions": not model.no_reasons,
        "no_attributions_because": model.no_reasons or None,
        "named": model.rows.names is not None,
        "columns": [_column(one) for one in model.columns],
    }


def _column(column: InputColumn) -> Json:
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": None if column.levels is None else [*column.levels],
        "time_zone": column.zone,
        "typical": column.typical,
    }


# ---- OpenAPI ----


def openapi_of(model: ServedModel, max_rows: int, *, needs_token: bool) -> Json:
    """The OpenAPI 3.1 document of a service, by the columns of its model."""
    document: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": f"Predictions of {model.kind}",
            "version": model.fingerprint[:12],
            "description": "Rows in, predictions out. Served by weald.",
        },
        "paths": _paths(model),
        "components": {
            "schemas": {
                **_row_schemas(model),
                "Request": _request_schema(model, max_rows),
                "Answer": _answer_schema(model),
                "Model": _MODEL,
                "Error": _ERROR_SCHEMA,
            }
        },
    }
    if needs_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        for operations in document["paths"].values():
            for operation in operations.values():
                if "security" not in operation:
                    operation["responses"]["401"] = _error("The token is missing or wrong.")
    return document


def _paths(model: ServedModel) -> Json:
    body = {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}, "examples": {
        "typical": {"value": _example(model)}
    }}}  # fmt: skip
    answer = {
        "description": "A prediction for each row. With Accept: text/csv as csv.",
        "headers": {"weald-model": {"schema": {"type": "string"}, "description": "Fingerprint."}},
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Answer"}},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
    errors = {
        "400": _error("The body is not JSON, or the Host header is not of this service."),
        "408": _error("The body did not arrive in time."),
        "413": _error("The body, its rows or the answer are too large."),
        "415": _error("The body is not application/json."),
        "422": _error("The model does not take these rows or options; the message names them."),
        "503": _error("The queue is full; Retry-After says when to try again."),
    }
    predict = {
        "summary": "Predict rows",
        "operationId": "predict",
        "requestBody": {"required": True, "content": body},
        "responses": {"200": answer, **errors},
    }
    return {
        "/predict": {"post": predict},
        "/model": {"get": _get("The model and its columns", "model", "#/components/schemas/Model")},
        "/openapi.json": {"get": _get("This document", "openapi", None)},
        "/metrics": {"get": _get_text("Numbers for Prometheus", "metrics")},
        "/health": {"get": _probe("Whether the process lives", "health")},
        "/ready": {"get": _probe("Whether it takes requests", "ready", refuses=True)},
    }


def _error(description: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _ERROR}}}


def _get(summary: str, name: str, schema: str | None) -> Json:
    own = {"type": "object"} if schema is None else {"$ref": schema}
    content = {"application/json": {"schema": own}}
    responses = {"200": {"description": summary, "content": content}, "400": _wrong_host()}
    return {"summary": summary, "operationId": name, "responses": responses}


def _get_text(summary: str, name: str) -> Json:
    content = {"text/plain": {"schema": {"type": "string"}}}
    responses = {"200": {"description": summary, "content": content}, "400": _wrong_host()}
    return {"summary": summary, "operationId": name, "responses": responses}


def _wrong_host() -> Json:
    return _error("The Host header is not of this service.")


def _probe(summary: str, name: str, *, refuses: bool = False) -> Json:
    schema = {"type": "object", "required": ["status"], "properties": {"status": _TEXT}}
    responses = {
        "200": {"description": summary, "content": {"application/json": {"schema": schema}}}
    }
    if refuses:
        responses["503"] = _error("The queue is full.")
    return {"summary": summary, "operationId": name, "responses": responses, "security": []}


def _example(model: ServedModel) -> Json:
    values = typical_row(model.columns)
    names = model.rows.names
    row = values if names is None else dict(zip(names, values, strict=True))
    example: Json = {"rows": [row]}
    if model.has_probabilities:
        example["probabilities"] = True
    return example


# ---- schemas ----

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": ["number", "null"]}
_ERROR_SCHEMA: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": _TEXT, "request": _TEXT},
}
_MODEL: Json = {
    "type": "object",
    "required": ["model", "class", "weald", "columns", "probabilities", "coverages"],
    "properties": {
        "model": _TEXT,
        "class": _TEXT,
        "weald": _TEXT,
        "columns": {"type": "array", "items": {"type": "object"}},
        "probabilities": {"type": "boolean"},
        "coverages": {"type": ["array", "null"], "description": "Of prediction intervals."},
        "attributions": {"type": "boolean"},
    },
}


def _row_schemas(model: ServedModel) -> Json:
    schemas = [column.schema() for column in model.columns]
    by_position: Json = {
        "type": "array",
        "description": "Values in the order of the columns; null is missing.",
        "prefixItems": schemas,
        "items": False,
        "minItems": len(schemas),
        "maxItems": len(schemas),
    }
    if model.rows.names is None:
        return {"Row": by_position}
    by_name = {
        "type": "object",
        "description": "A value for each column; null is missing.",
        "required": [*model.rows.names],
        "properties": dict(zip(model.rows.names, schemas, strict=True)),
        "additionalProperties": False,
    }
    return {"Row": {"anyOf": [by_name, by_position]}}


def _request_schema(model: ServedModel, max_rows: int) -> Json:
    rows = {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Row"},
        "description": f"At most {max_rows:,} rows: objects by column name, or arrays in the "
        "order of the columns.",
    }
    properties: Json = {
        "rows": rows,
        "probabilities": _option(model.has_probabilities, "Probabilities of the classes."),
        "attributions": _option(not model.no_reasons, "Shapley values of the columns."),
    }
    if model.coverages is not None:
        properties["interval"] = {
            "type": "number",
            "minimum": model.coverages[0],
            "maximum": model.coverages[1],
            "description": "Coverage of prediction intervals, such as 0.9.",
        }
    return {
        "type": "object",
        "required": ["rows"],
        "properties": properties,
        "additionalProperties": False,
    }


def _option(can: bool, description: str) -> Json:
    if can:
        return {"type": "boolean", "default": False, "description": description}
    return {"const": False, "description": f"{description} Not available for this model."}


def _answer_schema(model: ServedModel) -> Json:
    label: Json = _NUMBER if model.classes is None else {}
    one = {"type": "array", "items": label} if model.several else label
    shares: Json = {"type": "array", "items": _NUMBER}
    if model.several:
        shares = {"type": "array", "items": shares}
    nested = {"type": "array", "items": {"type": "array", "items": {"type": "array"}}}
    properties: Json = {
        "model": {"type": "string", "description": "Fingerprint of the model that answered."},
        "predictions": {"type": "array", "items": one, "description": "One for each row."},
    }
    if model.has_probabilities:
        properties["classes"] = {"type": "array", "description": "The labels."}
        properties["probabilities"] = {
            "type": "array",
            "items": shares,
            "description": "By row, in the order of the classes.",
        }
    if model.coverages is not None:
        limits = {"type": "array", "items": shares, "description": "Lower and upper bound by row."}
        properties["intervals"] = {
            "type": "object",
            "description": "Coverage, and the limits of each row.",
            "properties": {"coverage": {"type": "number"}, "limits": limits},
        }
    if not model.no_reasons:
        properties["attributions"] = {
            "type": "object",
            "description": "Scale, outputs, columns, base values, and values by row, output and "
            "column: they add up to the prediction on that scale.",
            "properties": {
                "scale": {"type": "string", "description": "What the values add up to."},
                "method": _TEXT,
                "outputs": {"type": "array", "items": _TEXT},
                "columns": {"type": "array", "items": _TEXT},
                "base_values": {"type": "array", "items": _NUMBER},
                "values": {**nested, "description": "By row, output and column."},
            },
        }
    return {"type": "object", "required": ["model", "predictions"], "properties": properties}
