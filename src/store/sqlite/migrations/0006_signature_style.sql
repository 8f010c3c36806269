-- Which headers carry a signature: 0, those of Standard Webhooks; 1, those of Svix beside them.
ALTER TABLE destinations ADD COLUMN signature_style INTEGER NOT NULL DEFAULT 0 CHECK (signature_style IN (0, 1));
