// Types for clients of an OpenAPI document, as openapi-typescript makes them. Why this is a package: see package.json.
import openapiTs, { astToString } from 'openapi-typescript';

export async function generateTypes(document) {
  return astToString(await openapiTs(document));
}
