//! The declarations of a struct and its fields, read and checked.

use proc_macro2::Span;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, Field, Ident, Lit, LitInt, LitStr, Path, Result, Type};

/// What stands in the attribute of a struct.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) versions: Option<(i16, i16)>,
    pub(crate) flexible: Option<i16>,
    pub(crate) kind: Option<Ident>,
    pub(crate) api_key: Option<i16>,
    pub(crate) response: Option<Path>,
    pub(crate) name: Option<String>,
}

/// What a field is, and what stands in its attribute.
pub(crate) struct Member {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    /// Kafka's name, first letter small.
    pub(crate) json_name: String,
    pub(crate) since: Option<i16>,
    pub(crate) until: Option<i16>,
    pub(crate) nullable_since: Option<i16>,
    pub(crate) tag: Option<u32>,
    pub(crate) tag_since: Option<i16>,
    pub(crate) ignorable: bool,
    pub(crate) records: bool,
    pub(crate) never_flexible: bool,
    pub(crate) default: Option<Default>,
}

pub(crate) enum Default {
    Null,
    Text(LitStr),
    Value(Expr),
}

impl Container {
    pub(crate) fn parse(attributes: &[Attribute], ident: &Ident) -> Result<Self> {
        let mut container = Self::default();
        let mut first = None;
        for attribute in kafka(attributes) {
            first.get_or_insert(attribute.span());
            attribute.parse_nested_meta(|meta| container.entry(&meta))?;
        }
        container.check(first.unwrap_or_else(|| ident.span()))?;
        Ok(container)
    }

    fn entry(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match key(meta)?.as_str() {
            "versions" => set(&mut self.versions, meta, range(meta)?),
            "flexible" => set(&mut self.flexible, meta, integer(meta)?),
            "kind" => {
                let kind: Ident = meta.value()?.parse()?;
                if !["request", "response", "header", "data"]
                    .iter()
                    .any(|known| kind == known)
                {
                    return Err(Error::new(
                        kind.span(),
                        "a kind is request, response, header or data",
                    ));
                }
                set(&mut self.kind, meta, kind)
            }
            "api_key" => set(&mut self.api_key, meta, integer(meta)?),
            "response" => set(&mut self.response, meta, meta.value()?.parse()?),
            "name" => set(&mut self.name, meta, text(meta)?),
            _ => {
                Err(meta
                    .error("not an attribute of a struct: versions, flexible, kind, api_key, response, name"))
            }
        }
    }

    fn check(&self, span: Span) -> Result<()> {
        let Some((low, high)) = self.versions else {
            let stray = self.flexible.is_some()
                || self.kind.is_some()
                || self.api_key.is_some()
                || self.response.is_some()
                || self.name.is_some();
            return if stray {
                Err(Error::new(span, "a message needs `versions`"))
            } else {
                Ok(())
            };
        };
        if low < 0 || low > high {
            return Err(Error::new(span, "`versions` is an empty range"));
        }
        let Some(kind) = &self.kind else {
            return Err(Error::new(span, "a message needs `kind`"));
        };
        if self.api_key.is_none() && kind != "header" {
            return Err(Error::new(span, "a message needs `api_key`"));
        }
        if self.response.is_some() != (kind == "request") {
            return Err(Error::new(
                span,
                "a request, and nothing else, names its `response`",
            ));
        }
        Ok(())
    }
}

impl Member {
    /// `None` for the field that keeps unknown tags.
    pub(crate) fn parse(field: &Field) -> Result<Option<Self>> {
        let ident = field
            .ident
            .clone()
            .ok_or_else(|| Error::new(field.span(), "fields need names"))?;
        let mut attributes = kafka(&field.attrs).peekable();
        if is_named(&field.ty, "UnknownTags") {
            return match attributes.next() {
                Some(attribute) => Err(Error::new(attribute.span(), "unknown tags have no attributes")),
                None => Ok(None),
            };
        }
        let mut member = Self {
            json_name: camel_case(&ident.to_string()),
            ident,
            ty: field.ty.clone(),
            since: None,
            until: None,
            nullable_since: None,
            tag: None,
            tag_since: None,
            ignorable: false,
            records: false,
            never_flexible: false,
            default: None,
        };
        for attribute in attributes {
            attribute.parse_nested_meta(|meta| member.entry(&meta))?;
        }
        member.check()?;
        Ok(Some(member))
    }

    pub(crate) fn is_option(&self) -> bool {
        is_named(&self.ty, "Option")
    }

    fn entry(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match key(meta)?.as_str() {
            "since" => set(&mut self.since, meta, integer(meta)?),
            "until" => set(&mut self.until, meta, integer(meta)?),
            "nullable_since" => set(&mut self.nullable_since, meta, integer(meta)?),
            "tag" => {
                let literal: LitInt = meta.value()?.parse()?;
                set(&mut self.tag, meta, literal.base10_parse()?)
            }
            "tag_since" => set(&mut self.tag_since, meta, integer(meta)?),
            "ignorable" => flag(&mut self.ignorable, meta),
            "records" => flag(&mut self.records, meta),
            "never_flexible" => flag(&mut self.never_flexible, meta),
            "default" => set(&mut self.default, meta, default(meta)?),
            "name" => {
                self.json_name = lower_first(&text(meta)?);
                Ok(())
            }
            _ => Err(meta.error(
                "not an attribute of a field: since, until, nullable_since, tag, tag_since, ignorable, records, \
                 never_flexible, default, name",
            )),
        }
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(self.ident.span(), message));
        if let (Some(since), Some(until)) = (self.since, self.until)
            && since > until
        {
            return wrong("`since` is above `until`");
        }
        if self.tag_since.is_some() && self.tag.is_none() {
            return wrong("`tag_since` without `tag`");
        }
        if !self.is_option() && self.nullable_since.is_some() {
            return wrong("only an `Option` can be null");
        }
        if !self.is_option() && matches!(self.default, Some(Default::Null)) {
            return wrong("only an `Option` can be null");
        }
        Ok(())
    }
}

/// The last part of a type's path is `name`.
fn is_named(ty: &Type, name: &str) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .segments
            .last()
            .is_some_and(|segment| segment.ident == name),
        _ => false,
    }
}

fn kafka(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("kafka"))
}

fn key(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.path.require_ident()?.to_string())
}

fn set<T>(place: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match place.replace(value) {
        Some(_) => Err(meta.error("given twice")),
        None => Ok(()),
    }
}

fn flag(place: &mut bool, meta: &ParseNestedMeta<'_>) -> Result<()> {
    if core::mem::replace(place, true) {
        Err(meta.error("given twice"))
    } else {
        Ok(())
    }
}

fn integer(meta: &ParseNestedMeta<'_>) -> Result<i16> {
    meta.value()?.parse::<LitInt>()?.base10_parse()
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// `0..=2`, or `0` for a single version.
fn range(meta: &ParseNestedMeta<'_>) -> Result<(i16, i16)> {
    let input = meta.value()?;
    let low: LitInt = input.parse()?;
    let low = low.base10_parse()?;
    if !input.peek(syn::Token![..=]) {
        return Ok((low, low));
    }
    input.parse::<syn::Token![..=]>()?;
    Ok((low, input.parse::<LitInt>()?.base10_parse()?))
}

fn default(meta: &ParseNestedMeta<'_>) -> Result<Default> {
    Ok(match meta.value()?.parse()? {
        Expr::Path(path) if path.path.is_ident("null") => Default::Null,
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Default::Text(text),
        value => Default::Value(value),
    })
}

fn camel_case(snake: &str) -> String {
    let mut name = String::with_capacity(snake.len());
    for (index, word) in snake.trim_start_matches("r#").split('_').enumerate() {
        let mut letters = word.chars();
        if index > 0 {
            name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        }
        name.extend(letters);
    }
    name
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|letter| letter.to_ascii_lowercase())
        .into_iter()
        .chain(letters)
        .collect()
}
