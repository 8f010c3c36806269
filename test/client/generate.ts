// Types for clients of an OpenAPI document, as openapi-typescript makes them. This folder is a package of its own: see
// its package.json.
import openapiTs, { astToString } from 'openapi-typescript';

export async function generateTypes(document: string): Promise<string> {
  return astToString(await openapiTs(document));
}
