//! From declarations to implementations.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result};

use crate::attributes::{Container, Default, Member};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a message is a struct"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.ident.span(),
            "a message has no generic parameters",
        ));
    }
    let fields = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => {
            return Err(Error::new(
                input.ident.span(),
                "the fields of a message have names",
            ));
        }
    };
    let container = Container::parse(&input.attrs, &input.ident)?;
    let mut members = Vec::new();
    let mut unknown = None;
    for field in fields {
        match Member::parse(field)? {
            Some(member) => members.push(member),
            None => unknown = field.ident.clone(),
        }
    }
    check_members(&container, &members)?;
    let message = Message {
        ident: &input.ident,
        container,
        members,
        unknown,
    };
    let default = message.default_impl();
    let field = message.field_impl();
    let message = message.message_impl();
    Ok(quote! { #default #field #message })
}

struct Message<'a> {
    ident: &'a Ident,
    container: Container,
    members: Vec<Member>,
    unknown: Option<Ident>,
}

impl Message<'_> {
    fn name(&self) -> String {
        self.container
            .name
            .clone()
            .unwrap_or_else(|| self.ident.to_string())
    }

    fn default_impl(&self) -> TokenStream {
        let ident = self.ident;
        let values = self.members.iter().map(|member| {
            let name = &member.ident;
            let value = default_value(member);
            quote! { #name: #value, }
        });
        let unknown = self
            .unknown
            .iter()
            .map(|name| quote! { #name: ::core::default::Default::default(), });
        quote! {
            #[automatically_derived]
            impl ::core::default::Default for #ident {
                fn default() -> Self {
                    Self { #(#values)* #(#unknown)* }
                }
            }
        }
    }

    fn field_impl(&self) -> TokenStream {
        let ident = self.ident;
        let name = self.name();
        let is_default = self.members.iter().map(is_default_value);
        let unknown_is_default = self
            .unknown
            .iter()
            .map(|unknown| quote! { && self.#unknown.is_empty() });
        let write_positional = self.members.iter().map(|member| write_positional(&name, member));
        let write_tags = self.write_tags(&name);
        let read_positional = self.members.iter().map(read_positional);
        let read_tags = self.read_tags();
        let values = self.members.iter().map(value);
        // A struct inside a message mostly stands in an array, whose loop is better off without a call for each.
        let inline = match self.container.versions {
            None => quote! { #[inline] },
            Some(_) => TokenStream::new(),
        };
        quote! {
            #[automatically_derived]
            impl ::kraft_wire::Field for #ident {
                fn schema_default() -> Self {
                    ::core::default::Default::default()
                }

                fn is_schema_default(&self) -> bool {
                    true #(&& #is_default)* #(#unknown_is_default)*
                }

                #inline
                fn write(
                    &self,
                    writer: &mut ::kraft_wire::Writer<impl ::kraft_wire::Target>,
                    format: ::kraft_wire::Format,
                ) -> ::core::result::Result<(), ::kraft_wire::EncodeError> {
                    #(#write_positional)*
                    #write_tags
                    ::core::result::Result::Ok(())
                }

                #inline
                fn read(
                    reader: &mut ::kraft_wire::Reader,
                    format: ::kraft_wire::Format,
                ) -> ::core::result::Result<Self, ::kraft_wire::DecodeError> {
                    let mut message = <Self as ::core::default::Default>::default();
                    #(#read_positional)*
                    #read_tags
                    ::core::result::Result::Ok(message)
                }

                fn to_value(&self, format: ::kraft_wire::Format) -> ::kraft_wire::Value {
                    let mut fields = ::kraft_wire::derive_support::ValueFields::new();
                    #(#values)*
                    let _ = format;
                    ::kraft_wire::Value::Object(fields)
                }

                fn write_nullable(
                    value: ::core::option::Option<&Self>,
                    writer: &mut ::kraft_wire::Writer<impl ::kraft_wire::Target>,
                    format: ::kraft_wire::Format,
                ) -> ::core::result::Result<(), ::kraft_wire::EncodeError> {
                    ::kraft_wire::derive_support::write_presence(value, writer, format)
                }

                fn read_nullable(
                    reader: &mut ::kraft_wire::Reader,
                    format: ::kraft_wire::Format,
                ) -> ::core::result::Result<::core::option::Option<Self>, ::kraft_wire::DecodeError> {
                    ::kraft_wire::derive_support::read_presence(reader, format)
                }
            }
        }
    }

    fn message_impl(&self) -> TokenStream {
        let Some((low, high)) = self.container.versions else {
            return TokenStream::new();
        };
        let ident = self.ident;
        let name = self.name();
        let api_key = self.container.api_key.unwrap_or(-1);
        let kind = self
            .container
            .kind
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let kind = match kind.as_str() {
            "request" => quote! { Request },
            "response" => quote! { Response },
            "header" => quote! { Header },
            _ => quote! { Data },
        };
        let flexible = match self.container.flexible {
            Some(since) => quote! { ::core::option::Option::Some(#since) },
            None => quote! { ::core::option::Option::None },
        };
        let request = self.container.response.iter().map(|response| {
            quote! {
                #[automatically_derived]
                impl ::kraft_wire::Request for #ident {
                    type Response = #response;
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl ::kraft_wire::Message for #ident {
                const NAME: &'static str = #name;
                const API_KEY: i16 = #api_key;
                const KIND: ::kraft_wire::MessageKind = ::kraft_wire::MessageKind::#kind;
                const VERSION_MIN: i16 = #low;
                const VERSION_MAX: i16 = #high;
                const FLEXIBLE_SINCE: ::core::option::Option<i16> = #flexible;
            }
            #(#request)*
        }
    }

    /// Known fields by rising tag.
    fn tagged(&self) -> Vec<&Member> {
        let mut tagged: Vec<_> = self
            .members
            .iter()
            .filter(|member| member.tag.is_some())
            .collect();
        tagged.sort_by_key(|member| member.tag);
        tagged
    }

    fn write_tags(&self, name: &str) -> TokenStream {
        let tagged = self.tagged();
        let count = tagged.iter().map(|member| {
            let default = is_default_value(member);
            in_tags(member).then(&quote! { known += u32::from(!(#default)); })
        });
        let write = tagged.iter().map(|member| {
            let default = is_default_value(member);
            let ident = &member.ident;
            let tag = member.tag;
            let null = refuse_null(name, member);
            in_tags(member).then(&quote! {
                if !(#default) {
                    #null
                    section.field(writer, #tag, &self.#ident, format)?;
                }
            })
        });
        let (known, section) = if tagged.is_empty() {
            (quote! { known }, quote! { section })
        } else {
            (quote! { mut known }, quote! { mut section })
        };
        let none = self
            .unknown
            .is_none()
            .then(|| quote! { let unknown = ::kraft_wire::UnknownTags::default(); });
        let unknown = match &self.unknown {
            Some(unknown) => quote! { self.#unknown },
            None => quote! { unknown },
        };
        let refuse = self.unknown.iter().map(|unknown| {
            quote! {
                else if !self.#unknown.is_empty() {
                    return ::core::result::Result::Err(::kraft_wire::EncodeError::TagsNotInVersion {
                        message: #name,
                        version: format.version,
                    });
                }
            }
        });
        quote! {
            if format.flexible {
                #none
                let #known: u32 = 0;
                #(#count)*
                let #section = ::kraft_wire::derive_support::TagSection::open(writer, known, &#unknown);
                #(#write)*
                section.close(writer);
            } #(#refuse)*
        }
    }

    /// As in Kafka, the size of a known field is not compared with what its data takes.
    fn read_tags(&self) -> TokenStream {
        let arms = self.tagged().into_iter().map(|member| {
            let ident = &member.ident;
            let tag = member.tag;
            let position = member
                .nullable_since
                .map(|_| quote! { let position = reader.position(); });
            let null = check_null(member);
            let read = quote! {
                {
                    #position
                    message.#ident = ::kraft_wire::Field::read(reader, format)?;
                    #null
                }
            };
            match in_tags(member) {
                When::If(present) => quote! {
                    #tag if #present => #read
                    #tag => {
                        return ::core::result::Result::Err(head.not_in_version(format.version));
                    }
                },
                _ => quote! { #tag => #read },
            }
        });
        let keep = match &self.unknown {
            Some(unknown) => quote! {
                tag => {
                    let size = head.unknown_size(reader)?;
                    message.#unknown.read(reader, tag, size)?;
                }
            },
            None => quote! {
                _ => {
                    let size = head.unknown_size(reader)?;
                    reader.take(size)?;
                }
            },
        };
        quote! {
            if format.flexible {
                for _ in 0..::kraft_wire::derive_support::tag_count(reader)? {
                    let head = ::kraft_wire::derive_support::TagHead::read(reader)?;
                    match head.tag {
                        #(#arms)*
                        #keep
                    }
                }
            }
        }
    }
}

/// Rules that need the whole struct.
fn check_members(container: &Container, members: &[Member]) -> Result<()> {
    for (index, member) in members.iter().enumerate() {
        let wrong = |message: &str| Err(Error::new(member.ident.span(), message));
        if member.tag.is_some() && members[..index].iter().any(|other| other.tag == member.tag) {
            return wrong("this tag is taken by another field");
        }
        let Some((_, high)) = container.versions else {
            continue;
        };
        if member.tag.is_some() && container.flexible.is_none() {
            return wrong("a tagged field in a message that is never flexible");
        }
        let beyond = |bound: Option<i16>| bound.is_some_and(|version| version > high);
        if beyond(member.since)
            || beyond(member.until)
            || beyond(member.nullable_since)
            || beyond(member.tag_since)
        {
            return wrong("a version that the message does not have");
        }
    }
    Ok(())
}

fn default_value(member: &Member) -> TokenStream {
    match &member.default {
        None if member.records && member.is_option() => quote! { ::core::option::Option::None },
        None => quote! { ::kraft_wire::Field::schema_default() },
        Some(Default::Null) => quote! { ::core::option::Option::None },
        Some(Default::Text(text)) => {
            quote! { ::core::convert::From::from(::kraft_wire::derive_support::text(#text)) }
        }
        Some(Default::Value(value)) => quote! { #value },
    }
}

/// An expression that is true while the field holds its default.
fn is_default_value(member: &Member) -> TokenStream {
    let ident = &member.ident;
    match &member.default {
        None if member.records && member.is_option() => quote! { self.#ident.is_none() },
        None => quote! { ::kraft_wire::Field::is_schema_default(&self.#ident) },
        Some(Default::Null) => quote! { self.#ident.is_none() },
        Some(Default::Text(text)) if member.is_option() => quote! { self.#ident.as_deref() == Some(#text) },
        Some(Default::Text(text)) => quote! { self.#ident == #text },
        Some(Default::Value(value)) => quote! { self.#ident == #value },
    }
}

/// The versions for which something holds, as a condition of generated code.
#[derive(Clone)]
enum When {
    Never,
    Always,
    If(TokenStream),
}

impl When {
    fn from(since: Option<i16>, until: Option<i16>) -> Self {
        match (since.filter(|since| *since > 0), until) {
            (None, None) => Self::Always,
            (Some(since), None) => Self::If(quote! { format.version >= #since }),
            (None, Some(until)) => Self::If(quote! { format.version <= #until }),
            (Some(since), Some(until)) => Self::If(quote! { (#since..=#until).contains(&format.version) }),
        }
    }

    /// `body` where it holds.
    fn then(&self, body: &TokenStream) -> TokenStream {
        match self {
            Self::Never => TokenStream::new(),
            Self::Always => body.clone(),
            Self::If(condition) => quote! { if #condition { #body } },
        }
    }

    fn and(self, condition: TokenStream) -> Self {
        match self {
            Self::Never => Self::Never,
            Self::Always => Self::If(condition),
            Self::If(first) => Self::If(quote! { #first && #condition }),
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, when) | (when, Self::Never) => when,
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::If(first), Self::If(second)) => Self::If(quote! { (#first) || (#second) }),
        }
    }
}

/// Where the field stands in the tagged section, given that the version is flexible.
fn in_tags(member: &Member) -> When {
    match (member.tag, member.tag_since.or(member.since)) {
        (None, _) => When::Never,
        (Some(_), since) => When::from(since, member.until),
    }
}

/// Where the field stands at its place in the struct.
fn in_position(member: &Member) -> When {
    match (member.tag, member.tag_since) {
        (None, _) => When::from(member.since, member.until),
        (Some(_), None) => When::Never,
        (Some(_), Some(tag_since)) => When::from(member.since, Some(tag_since - 1)),
    }
}

/// The format in which the field stands at its place.
fn format(member: &Member) -> TokenStream {
    if member.never_flexible {
        quote! { ::kraft_wire::Format { flexible: false, ..format } }
    } else {
        quote! { format }
    }
}

fn write_positional(name: &str, member: &Member) -> TokenStream {
    let ident = &member.ident;
    let null = refuse_null(name, member);
    let format = format(member);
    let position = in_position(member);
    let write = position.then(&quote! { #null ::kraft_wire::Field::write(&self.#ident, writer, #format)?; });
    let refuse = match position.or(in_tags(member).and(quote! { format.flexible })) {
        When::If(present) if !member.ignorable => {
            let default = is_default_value(member);
            let field = &member.json_name;
            quote! {
                if !(#present) && !(#default) {
                    return ::core::result::Result::Err(::kraft_wire::EncodeError::FieldNotInVersion {
                        message: #name,
                        field: #field,
                        version: format.version,
                    });
                }
            }
        }
        _ => TokenStream::new(),
    };
    quote! { #write #refuse }
}

fn read_positional(member: &Member) -> TokenStream {
    let ident = &member.ident;
    let position = member
        .nullable_since
        .map(|_| quote! { let position = reader.position(); });
    let null = check_null(member);
    let format = format(member);
    in_position(member).then(&quote! {
        #position
        message.#ident = ::kraft_wire::Field::read(reader, #format)?;
        #null
    })
}

fn refuse_null(name: &str, member: &Member) -> TokenStream {
    let Some(since) = member.nullable_since else {
        return TokenStream::new();
    };
    let ident = &member.ident;
    let field = &member.json_name;
    quote! {
        if format.version < #since && self.#ident.is_none() {
            return ::core::result::Result::Err(::kraft_wire::EncodeError::NullNotAllowed {
                message: #name,
                field: #field,
                version: format.version,
            });
        }
    }
}

/// Expects a `position` in scope: where the field began.
fn check_null(member: &Member) -> TokenStream {
    let Some(since) = member.nullable_since else {
        return TokenStream::new();
    };
    let ident = &member.ident;
    quote! {
        if format.version < #since && message.#ident.is_none() {
            return ::core::result::Result::Err(::kraft_wire::DecodeError {
                kind: ::kraft_wire::DecodeErrorKind::UnexpectedNull,
                position,
            });
        }
    }
}

fn value(member: &Member) -> TokenStream {
    let ident = &member.ident;
    let name = &member.json_name;
    let value = if !member.records {
        quote! { ::kraft_wire::Field::to_value(&self.#ident, format) }
    } else if member.is_option() {
        quote! { self.#ident.clone().map_or(::kraft_wire::Value::Null, ::kraft_wire::Value::Records) }
    } else {
        quote! { ::kraft_wire::Value::Records(self.#ident.clone()) }
    };
    let default = is_default_value(member);
    let shown = in_position(member).or(in_tags(member).and(quote! { format.flexible && !(#default) }));
    shown.then(&quote! { fields.push((#name, #value)); })
}
