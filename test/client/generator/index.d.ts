/** `document`: the text of an OpenAPI document. */
export function generateTypes(document: string): Promise<string>;
